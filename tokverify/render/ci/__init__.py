"""The formats for CI systems: all of them show the same issues of a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from tokverify.render.ci.issue import Check, Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class CiReport:
    """What CI systems show of a report."""

    issues: Iterable[Issue]
    """The problems; each belongs to one of `checks`."""
    checks: Sequence[Check]
    verdict: str
    exit_code: int
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
    """Make the paths of all issues relative to `root`; an issue about no file below it gets the path `stand_in`."""
    return replace(report, issues=(_place_issue(issue, root, stand_in) for issue in report.issues))


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
