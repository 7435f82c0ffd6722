"""Subject: all that a check of a chat template looks at, for one conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.audit.marker import TemplateMarkers
    from tokverify.chat.rendering import Rendering
    from tokverify.engine.family import Settings
    from tokverify.report.chat import Rendered
    from tokverify.tokenizer import Tokenizer

ANSWER = "tokverifyanswer"
"""What the assistant says in `Probes.answered`."""
QUESTION = "tokverifyquestion"
"""What the user says in `Probes.followed`."""


@dataclass(frozen=True, slots=True)
class Probes:
    """What our template makes of a conversation that is changed a little.

    Of one that asks for an answer: `unasked` is without the prompt for it, `answered` has the answer. Of one that the
    assistant ends: `followed` has one more message of the user. None where it is the other way round.
    """

    unasked: Rendering | None = None
    answered: Rendering | None = None
    followed: Rendering | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A rendered conversation, our tokenizer with its settings, and the reference's if there is one."""

    rendered: Rendered
    probes: Probes
    markers: TemplateMarkers
    settings: Settings
    actual: Tokenizer
    expected: Tokenizer | None = None

    @property
    def text(self) -> str:
        """What our template writes; empty where it fails."""
        return self.rendered.actual.text or ""

    @property
    def as_in_reference(self) -> bool:
        """Whether the reference's template writes the same."""
        expected = self.rendered.expected
        return expected is not None and expected.text == self.rendered.actual.text
