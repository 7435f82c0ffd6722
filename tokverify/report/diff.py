"""What changed from one version of a tokenizer to the next, as data; `tokverify.render.diff` turns it into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokverify.report.fuzz import INTERRUPTED, Stop

if TYPE_CHECKING:
    from tokverify.diff.part import Part
    from tokverify.report.fuzz import FuzzReport
    from tokverify.report.run import Report, Side


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does to a corpus: its lines and bytes, those whose ids change, and the tokens before and after."""

    lines: int
    changed_lines: int
    bytes: int
    changed_bytes: int
    old_tokens: int
    new_tokens: int


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """Everything that changed.

    In `report` and `fuzzed`, the new version is the actual side and the old one the expected. `not_compared` says
    what of the parts could not be compared, and why. With `behavior_only`, changed parts alone do not count. `file` is
    the file of the new version, without the revision, or else that of the old one; empty where neither is one.
    `options` are what the user asked for.
    """

    parts: tuple[Part, ...]
    report: Report
    fuzzed: FuzzReport | None = None
    effect: Effect | None = None
    not_compared: tuple[str, ...] = ()
    behavior_only: bool = False
    file: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def old(self) -> Side:
        """The version that is taken to be right."""
        return self.report.expected

    @property
    def new(self) -> Side:
        """The version under test."""
        return self.report.actual

    @property
    def behaves_alike(self) -> bool:
        """Whether no text was found that the two encode differently."""
        differs = self.report.exit_code == 1 or (self.fuzzed is not None and self.fuzzed.failing > 0)
        return not differs and not (self.effect and self.effect.changed_lines)

    @property
    def exit_code(self) -> int:
        """0 if nothing changed, 1 if something did, 2 if no text could be compared, 130 if Ctrl-C ended the fuzzing."""
        if self.fuzzed and self.fuzzed.stop is Stop.INTERRUPTED:
            return INTERRUPTED
        if not self.behaves_alike or (self.parts and not self.behavior_only):
            return 1
        return self.report.exit_code
