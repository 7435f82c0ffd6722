"""Issue: one thing with a place that a CI system is told of, by the `github`, `gitlab` and `sarif` formats."""

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
    """A kind of issue; `manual` says in Markdown what it is about."""

    id: str
    name: str
    summary: str
    level: Level
    manual: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """Something found; `key` names it from run to run.

    `message` may have several lines; it and `title` have passed `visible`. `path` and `line` (1-based) are where it
    is shown; the path is empty if nowhere. `accepted` is the reason why it does not count, None where it does.
    """

    check: str
    level: Level
    title: str
    message: str
    path: str
    line: int = 1
    key: str
    accepted: str | None = None

    @property
    def fingerprint(self) -> str:
        """A digest of the key, in hexadecimal."""
        return hashlib.sha256(f"{self.check}\0{self.key}".encode("utf-8", "surrogatepass")).hexdigest()


LEVELS: Mapping[Severity, Level] = {
    Severity.ERROR: Level.ERROR,
    Severity.WARNING: Level.WARNING,
    Severity.INFO: Level.NOTE,
}
"""Severity of a finding -> how bad an issue it is."""


def message_of(lines: Sequence[str]) -> str:
    """Join the lines of a message; the end of a very long one is left out, and said to be."""
    left_out = len(lines) - _MOST_LINES
    more = [f"... {left_out:,} more lines ..."] if left_out > 0 else []
    return "\n".join([*lines[:_MOST_LINES], *more])
