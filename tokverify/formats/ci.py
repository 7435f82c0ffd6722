"""The formats for CI systems: of each kind of report they are told the same, its issues."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, TypeVar

from tokverify.visible import visible_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokverify.formats import RenderOptions
    from tokverify.formats.issue import Check, Issue

Report = TypeVar("Report")


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


def ci_formats(tell: Callable[[Report], Told]) -> dict[str, Callable[[Report, RenderOptions], str]]:
    """Return the formats of a kind of report by name; `tell` says what is told of one."""

    def format_of(name: str, render: Callable[[Told], str]) -> Callable[[Report, RenderOptions], str]:
        def write(report: Report, options: RenderOptions) -> str:
            told = tell(report)
            stand_in = options.stand_in if name in _WANTS_FILES else ""
            issues = (_placed(issue, options.root, stand_in) for issue in told.issues)
            return render(replace(told, issues=issues))

        return write

    return {name: format_of(name, render) for name, render in _RENDERERS.items()}


def _placed(issue: Issue, root: str, stand_in: str) -> Issue:
    """Write the path of an issue from `root` on; where no file below that is meant, it is `stand_in`, and this told."""
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


def _github(told: Told) -> str:
    from tokverify.formats.github import render

    return render(told.issues, told.verdict)


def _gitlab(told: Told) -> str:
    from tokverify.formats.gitlab import render

    return render(told.issues)


def _sarif(told: Told) -> str:
    from tokverify.formats.sarif import render

    return render(told.issues, told.checks, exit_code=told.exit_code, skipped=told.skipped)


# GitHub refuses a whole SARIF file for one result without a place, and GitLab wants a path of each entry.
_WANTS_FILES = frozenset({"gitlab", "sarif"})
_RENDERERS: Mapping[str, Callable[[Told], str]] = {"github": _github, "gitlab": _gitlab, "sarif": _sarif}
