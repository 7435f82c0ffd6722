"""The formats for CI systems: of each kind of report they are told the same, its issues."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from tokverify.visible import visible_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokverify.formats.ci.issue import Check, Issue


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


def rooted(told: Told, root: str) -> Told:
    """Write the paths of all issues as seen from the directory `root`."""
    return replace(told, issues=(replace(issue, path=path_from(root, issue.path)) for issue in told.issues))


def path_from(root: str, path: str) -> str:
    """Write a path as git does: from the directory `root` on if it is below that and `root` is not empty.

    Links to directories are followed, as git knows no file behind one by that name. An address stays as it is.
    """
    if not _can_be_one(path) or "://" in path:
        return visible_message(path)
    if root:
        absolute = Path(os.path.normpath(Path(os.path.realpath(Path(path).parent), Path(path).name)))
        if absolute.is_relative_to(root):
            return absolute.relative_to(root).as_posix()
    return PurePath(path).as_posix()


def _can_be_one(path: str) -> bool:
    """Tell whether a file could be called so; in a damaged report anything may stand."""
    try:
        return "\0" not in path and bool(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False
