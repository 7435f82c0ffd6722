"""Define the input of the checks of a chat template: one rendered conversation and the tokenizers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.chat.text_difference import LineBlock
    from tokverify.compare.marker import TemplateMarkers
    from tokverify.engine.family import Settings
    from tokverify.report.chat import Conversation, RenderedConversation, Rendering

ANSWER = "tokverifyanswer"
"""The assistant's message in `Probes.answered`."""
QUESTION = "tokverifyquestion"
"""The user's message in `Probes.followed`."""


@dataclass(frozen=True, slots=True)
class Probes:
    """The results of our template for slightly changed conversations."""

    unasked: Rendering | None = None
    """A conversation with `add_generation_prompt`, without it."""

    answered: Rendering | None = None
    """The same conversation, with an answer from the assistant."""

    followed: Rendering | None = None
    """A conversation that ends with the assistant's turn, with another message from the user."""


@dataclass(frozen=True, slots=True)
class ChatSubject:
    """A rendered conversation and the tokenizers."""

    conversation: Conversation
    rendered: RenderedConversation
    probes: Probes
    markers: TemplateMarkers
    settings: Settings
    """The settings of `actual`."""

    actual: Tokenizer

    expected: Tokenizer | None = None
    """The reference, if it recognizes control tokens in a text."""

    differences: tuple[LineBlock, ...] = ()
    """The aligned texts of both sides; empty if they are equal or one is missing."""

    @property
    def text(self) -> str:
        """The text that our template writes; empty if it fails."""
        return self.rendered.actual.text or ""

    @property
    def as_in_reference(self) -> bool:
        """Whether the reference's template writes the same."""
        expected = self.rendered.expected
        return expected is not None and expected.text == self.rendered.actual.text
