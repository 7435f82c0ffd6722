"""Presentation: a report, bound to all the formats that it can be written in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.formats import RenderOptions

Report = TypeVar("Report")


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a report is written, by format, with the line that sums it up and the exit code it stands for.

    `summary` writes GitHub's job summary in at most so many bytes.
    """

    formats: Mapping[str, Callable[[RenderOptions], str]]
    verdict: str
    exit_code: int
    summary: Callable[[int], str] | None = None


def bound(
    formats: Mapping[str, Callable[[Report, RenderOptions], str]], report: Report
) -> dict[str, Callable[[RenderOptions], str]]:
    """Bind formats to the report that they write."""
    return {name: partial(render, report) for name, render in formats.items()}
