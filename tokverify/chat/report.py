"""What came out of trying chat templates, as data; `tokverify.formats.chat` turns it into text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokverify.audit.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokverify.chat.conversation import Conversation
    from tokverify.chat.rendering import Rendering
    from tokverify.report import Side


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

    `expected` is None without a reference's template; the ids are None where there is nothing to encode.
    """

    conversation: Conversation
    template: str
    actual: Rendering
    expected: Rendering | None
    actual_ids: tuple[int, ...] | None = None
    expected_ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChatReport:
    """Everything that was found; `results` are in the order of templates and conversations.

    `not_checked` says what could not be looked at, and why.
    """

    actual: Side
    expected: Side | None
    templates: tuple[str, ...]
    results: tuple[Rendered, ...]
    findings: tuple[ChatFinding, ...]
    not_checked: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """1 if there is an error or a warning; hints alone leave it at 0."""
        return int(any(finding.severity > Severity.INFO for finding in self.findings))
