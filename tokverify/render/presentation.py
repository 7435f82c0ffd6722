"""Presentation: a report, bound to all the formats that it can be written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tokverify.render import RenderOptions

Report = TypeVar("Report")

_FOR_EYES = {"table", "markdown"}
# GitHub refuses a whole SARIF file for one result without a place, and GitLab wants a path of each entry.
_WANTS_PLACES = {"gitlab", "sarif"}

CI_FORMATS: Mapping[str, str] = {
    "github": "tokverify.render.ci.github:render",
    "gitlab": "tokverify.render.ci.gitlab:render",
    "sarif": "tokverify.render.ci.sarif:render",
}
"""Name of a format for CI systems -> the function that writes what they are told of a report of any kind."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """How a report is written, by format, with the line that sums it up and the exit code it stands for."""

    formats: Mapping[str, Callable[[RenderOptions], str]]
    verdict: str
    exit_code: int


def bound(
    formats: Mapping[str, Callable[[Report, RenderOptions], str]], report: Report
) -> dict[str, Callable[[RenderOptions], str]]:
    """Bind formats to the report that they write."""
    return {name: partial(render, report) for name, render in formats.items()}


@dataclass(frozen=True, slots=True)
class Renderer:
    """What writes a kind of report in a format, with a function that is imported when it is needed.

    `place` names it. It takes the report, and in a format for eyes the options, too; for a format for CI systems it
    returns what they are `Told` of the report.
    """

    format: str
    place: str

    def __call__(self, report: object, options: RenderOptions) -> str:
        """Write a report."""
        function = load(self.place)
        if self.format in CI_FORMATS:
            from tokverify.render.ci import placed

            stand_in = options.stand_in if self.format in _WANTS_PLACES else ""
            told = placed(function(report), options.root, stand_in)
            text: str = load(CI_FORMATS[self.format])(told)
        else:
            text = function(report, options) if self.format in _FOR_EYES else function(report)
        return text


def renderers(places: Mapping[str, str]) -> dict[str, Renderer]:
    """Return what writes a kind of report, by format; `places` names the function for each."""
    return {format: Renderer(format, place) for format, place in places.items()}


def load(place: str) -> Callable[..., Any]:
    """Import a function that a table names, as `module:function`."""
    module, _, name = place.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function
