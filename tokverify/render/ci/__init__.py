"""The formats for CI systems: of each kind of report they are told the same, its issues."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.ci.issue import Check, Issue


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What CI systems are told of a report.

    Each of the `issues` is of one of the `checks`. `skipped` are sentences on what could not be checked.
    """

    issues: Iterable[Issue]
    checks: Sequence[Check]
    verdict: str
    exit_code: int
    skipped: Iterable[str] = ()


def placed(told: Told, root: str, stand_in: str) -> Told:
    """Write the paths of all issues from `root` on; that of one which is about no file below it is `stand_in`."""
    return replace(told, issues=(_placed(issue, root, stand_in) for issue in told.issues))


def _placed(issue: Issue, root: str, stand_in: str) -> Issue:
    if not root or _is_file_below(root, issue.path):
        return replace(issue, path=path_from(root, issue.path))
    place = visible_message(issue.path) + (f":{issue.line}" if issue.line > 1 else "")
    first, *others = issue.message.split("\n")
    message = "\n".join([first, f"in {place}, which is no file of this repository", *others])
    return replace(issue, path=stand_in, line=1, message=message)


def path_from(root: str, path: str) -> str:
    """Write a path as git does: from the directory `root` on if it is below that and `root` is not empty.

    Links to directories are followed, as git knows no file behind one by that name. An address stays as it is.
    """
    if not _can_be_one(path) or "://" in path:
        return visible_message(path)
    if root and (absolute := _absolute(path)).is_relative_to(root):
        return absolute.relative_to(root).as_posix()
    return PurePath(path).as_posix()


def _is_file_below(root: str, path: str) -> bool:
    if not _can_be_one(path) or "://" in path:
        return False
    absolute = _absolute(path)
    return absolute.is_relative_to(root) and os.path.isfile(absolute)  # noqa: PTH113 - of any name, however long


def _absolute(path: str) -> Path:
    return Path(os.path.normpath(Path(os.path.realpath(Path(path).parent), Path(path).name)))


def _can_be_one(path: str) -> bool:
    """Tell whether a file could be called so; in a damaged report anything may stand."""
    try:
        return "\0" not in path and bool(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False
