"""The output formats: each turns a report into text, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.report import Report


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to write for eyes; a format for machines ignores all of it.

    `width` is in terminal cells. `verbose` shows what passed too and folds nothing; `quiet` leaves only the
    verdict.
    """

    width: int = 100
    color: bool = False
    verbose: bool = False
    quiet: bool = False


def _table(report: Report, options: RenderOptions) -> str:
    from tokverify.formats.table import render

    return render(report, options)


def _json(report: Report, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.json import render

    return render(report)


FORMATS: Mapping[str, Callable[[Report, RenderOptions], str]] = {"table": _table, "json": _json}
