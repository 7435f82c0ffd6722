"""What came out of trying chat templates, as data; `tokverify.render.chat` turns it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokverify.report.finding import Severity

if TYPE_CHECKING:
    from tokverify.chat.conversation import Conversation
    from tokverify.chat.rendering import Rendering
    from tokverify.report.difference import Difference
    from tokverify.report.run import Side


@dataclass(frozen=True, slots=True)
class Template:
    """The sources of the templates of one name; None where a side has none."""

    name: str
    actual: str | None
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class ChatFinding:
    """One thing that is wrong, in one conversation or in several; `kind` is a key of `KINDS`."""

    severity: Severity
    kind: str
    message: str
    template: str
    conversations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rendered:
    """A conversation as both sides write and encode it.

    `expected` is None without a reference's template. The ids on that side are those of its tokenizer, for what its
    template wrote or, where it has none, ours. They are None where there is nothing to encode, or a refusal says why it
    cannot be encoded. `difference` is between the ids where the same text gets others.
    """

    conversation: Conversation
    template: str
    actual: Rendering
    expected: Rendering | None
    actual_ids: tuple[int, ...] | None = None
    expected_ids: tuple[int, ...] | None = None
    actual_refusal: str = ""
    expected_refusal: str = ""
    difference: Difference | None = None

    @property
    def drifts(self) -> bool:
        """Whether both sides write a text, and not the same."""
        return bool(
            self.expected
            and self.actual.text is not None
            and self.expected.text is not None
            and self.actual.text != self.expected.text
        )


@dataclass(frozen=True, slots=True)
class ChatReport:
    """Everything that was found; `results` are in the order of templates and conversations.

    `templates` are those of our side, then those that only the reference has. `not_checked` says what could not be
    looked at, and why. `options` is what was asked for.
    """

    actual: Side
    expected: Side | None
    templates: tuple[Template, ...]
    results: tuple[Rendered, ...]
    findings: tuple[ChatFinding, ...]
    not_checked: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def conversations(self) -> tuple[Conversation, ...]:
        """What was tried, each once."""
        return tuple({result.conversation.id: result.conversation for result in self.results}.values())

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    def found_in(self, result: Rendered) -> list[ChatFinding]:
        """Return what is wrong with one result."""
        found = (finding for finding in self.findings if finding.template == result.template)
        return [finding for finding in found if result.conversation.id in finding.conversations]

    @property
    def exit_code(self) -> int:
        """1 if there is an error or a warning; hints alone leave it at 0."""
        return int(any(finding.severity > Severity.INFO for finding in self.findings))
