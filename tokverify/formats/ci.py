"""The formats for CI systems: of each kind of report they are told the same, its issues."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokverify.formats.issue import Check, Issue


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


def ci_formats(tell: Callable[..., Told]) -> dict[str, Callable[..., str]]:
    """Return the formats of a kind of report by name; `tell` says what is told of one.

    As every format, they take a report and RenderOptions.
    """

    def format_of(render: Callable[[Told], str]) -> Callable[..., str]:
        def write(*arguments: Any) -> str:  # noqa: ANN401 - of some kinds, a report is not all that `tell` takes
            *report, options = arguments
            told = tell(*report)
            issues = (replace(issue, path=path_from(options.root, issue.path)) for issue in told.issues)
            return render(replace(told, issues=issues))

        return write

    return {name: format_of(render) for name, render in _RENDERERS.items()}


def path_from(root: str, path: str) -> str:
    """Write a path as git does: from the directory `root` on if it is below that and not empty."""
    absolute = Path(os.path.normpath(Path(path).absolute()))
    below = root and absolute.is_relative_to(root)
    return (absolute.relative_to(root) if below else PurePath(path)).as_posix()


def _github(told: Told) -> str:
    from tokverify.formats.github import render

    return render(told.issues, told.verdict)


def _gitlab(told: Told) -> str:
    from tokverify.formats.gitlab import render

    return render(told.issues)


def _sarif(told: Told) -> str:
    from tokverify.formats.sarif import render

    return render(told.issues, told.checks, exit_code=told.exit_code, skipped=told.skipped)


_RENDERERS: Mapping[str, Callable[[Told], str]] = {"github": _github, "gitlab": _gitlab, "sarif": _sarif}
