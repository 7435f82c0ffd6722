"""Issue: one problem with a place, which the `github`, `gitlab` and `sarif` formats show."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tokverify.report.finding import Severity

_MOST_LINES = 40


class Level(StrEnum):
    """How bad an issue is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Check:
    """A kind of issue."""

    id: str
    name: str
    summary: str
    level: Level
    manual: str = ""
    """A description in Markdown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One problem."""

    check: str
    """The id of its `Check`."""
    level: Level
    title: str
    """A few words; they have passed `visible`."""
    message: str
    """One or more lines; they have passed `visible`."""
    path: str
    """The file in which it is shown; empty if there is none."""
    line: int = 1
    """The line in which it is shown, 1-based."""
    key: str
    """Identifies the issue from run to run."""
    accepted: str | None = None
    """Why it does not count; None if it does."""

    @property
    def fingerprint(self) -> str:
        """The digest of the key, in hexadecimal."""
        return hashlib.sha256(f"{self.check}\0{self.key}".encode("utf-8", "surrogatepass")).hexdigest()


LEVELS: Mapping[Severity, Level] = {
    Severity.ERROR: Level.ERROR,
    Severity.WARNING: Level.WARNING,
    Severity.INFO: Level.NOTE,
}
"""Severity of a finding -> level of its issue."""


def issue_of(check: Check, lines: Sequence[str], *, path: str, key: str) -> Issue:
    """Return an issue with the name and the level of its check; the lines have passed `visible`."""
    return Issue(check=check.id, level=check.level, title=check.name, message=join_lines(lines), path=path, key=key)


def join_lines(lines: Sequence[str]) -> str:
    """Join the lines of a message; a very long one ends with how many lines are left out."""
    left_out = len(lines) - _MOST_LINES
    more = [f"... {left_out:,} more lines ..."] if left_out > 0 else []
    return "\n".join([*lines[:_MOST_LINES], *more])
