"""Issue: one problem with a place, which all formats for CI systems show."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tokverify.report.finding import Severity
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MOST_LINES = 40
_MOST_EXAMPLES = 10


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
    example_of: str = ""
    """What many issues are examples of, such as failing cases of a model; CI systems show only the first few."""

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


def issue_of(check: Check, lines: Sequence[str], *, path: str, key: str = "") -> Issue:
    """Return an issue with the name and the level of its check; the lines have passed `visible`."""
    key = key or f"{path}\0{lines[0]}"
    return Issue(check=check.id, level=check.level, title=check.name, message=join_lines(lines), path=path, key=key)


def join_lines(lines: Sequence[str]) -> str:
    """Join the lines of a message; a very long one ends with how many lines are left out."""
    left_out = len(lines) - _MOST_LINES
    more = [f"... {left_out:,} more lines ..."] if left_out > 0 else []
    return "\n".join([*lines[:_MOST_LINES], *more])


@dataclass(frozen=True, slots=True, kw_only=True)
class CiReport:
    """What CI systems show of a report."""

    issues: Iterable[Issue]
    """The problems; each belongs to one of `checks`."""
    checks: Sequence[Check]
    verdict: str = ""
    """That of the document, as is the exit code; both are filled in when a report is rendered."""
    exit_code: int | None = None
    skipped: Iterable[str] = ()
    """Sentences on what could not be checked."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What was compared with what, for `junit`; not escaped yet."""
    evaluated: Collection[str] = ()
    """The ids of checks that `junit` lists as tests that pass if they have no issue."""
    suites: Callable[[Mapping[str, str]], Iterable[Element]] = lambda properties: ()  # noqa: ARG005
    """Make the suites that `junit` has beside that of the issues, such as those of cases, with these properties."""
    tested: Collection[str] = ()
    """The ids of the checks whose issues are tests in these suites."""


def place_issues(report: CiReport, root: str, stand_in: str) -> CiReport:
    """Return a report as CI systems show it.

    The paths of all issues become relative to `root`; an issue about no file below it gets the path `stand_in`. Of many
    examples, the first ones in files below it are kept.
    """
    placed = (_place_issue(issue, root, stand_in) for issue in report.issues)
    return replace(report, issues=_fold_examples(placed, stand_in))


def _fold_examples(issues: Iterable[Issue], stand_in: str) -> Iterator[Issue]:
    examples: dict[str, list[Issue]] = {}
    for issue in issues:
        if issue.example_of:
            examples.setdefault(issue.example_of, []).append(issue)
        else:
            yield issue
    for group in examples.values():
        if len(group) > _MOST_EXAMPLES:
            group.sort(key=lambda issue: issue.path == stand_in)
        yield from group[:_MOST_EXAMPLES]
        if others := group[_MOST_EXAMPLES:]:
            yield replace(
                others[0],
                title=plural(len(others), "more failing case"),
                message=join_lines([f"{len(group):,} cases fail; these, too:", *(issue.title for issue in others)]),
                key=f"{others[0].example_of}\0more",
            )


def _place_issue(issue: Issue, root: str, stand_in: str) -> Issue:
    if not root or _is_file_below(root, issue.path):
        return replace(issue, path=path_from(root, issue.path))
    place = visible_message(issue.path) + (f":{issue.line}" if issue.line > 1 else "")
    first, *others = issue.message.split("\n")
    message = "\n".join([first, f"in {place}, which is not a file in this repository", *others])
    return replace(issue, path=stand_in, line=1, message=message)


def path_from(root: str, path: str) -> str:
    """Return a path as git knows it: relative to the directory `root` if it is below that and `root` is not empty.

    Links to directories are resolved, as git knows no file behind one. An address is returned as it is.
    """
    if not _is_possible(path) or "://" in path:
        return visible_message(path)
    if root and (absolute := _absolute(path)).is_relative_to(root):
        return absolute.relative_to(root).as_posix()
    return PurePath(path).as_posix()


def _is_file_below(root: str, path: str) -> bool:
    if not _is_possible(path) or "://" in path:
        return False
    absolute = _absolute(path)
    return absolute.is_relative_to(root) and os.path.isfile(absolute)  # noqa: PTH113 - of any name, however long


def _absolute(path: str) -> Path:
    return Path(os.path.normpath(Path(os.path.realpath(Path(path).parent), Path(path).name)))


def _is_possible(path: str) -> bool:
    """Check whether a file can have this name; a damaged report may hold anything."""
    try:
        return "\0" not in path and bool(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False
