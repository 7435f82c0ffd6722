"""Presentation: a report, bound to all the formats that it can be written in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.formats import RenderOptions

Report = TypeVar("Report")

_FOR_EYES = {"table", "markdown"}

CI_FORMATS: Mapping[str, str] = {
    "github": "tokverify.formats.ci.github",
    "gitlab": "tokverify.formats.ci.gitlab",
    "sarif": "tokverify.formats.ci.sarif",
}
"""Name of a format for CI systems -> the module whose `render` writes what they are told of a report of any kind."""


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
    """What writes a kind of report in a format, with a function of `module`, which is imported when it is needed.

    The function is `render`, of the report and in a format for eyes of the options, too. For a format for CI systems it
    is `tell`, which returns what they are `Told` of the report.
    """

    format: str
    module: str

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        name = "tell" if self.format in CI_FORMATS else "render"
        function: Callable[..., Any] = getattr(import_module(self.module), name)
        return function

    def __call__(self, report: object, options: RenderOptions) -> str:
        """Write a report."""
        function = self.load()
        if self.format in CI_FORMATS:
            from tokverify.formats.ci import write

            return write(self.format, function(report), options.root)
        text: str = function(report, options) if self.format in _FOR_EYES else function(report)
        return text


def renderers(modules: Mapping[str, str]) -> dict[str, Renderer]:
    """Return what writes a kind of report, by format; `modules` names what is to be imported for each."""
    return {name: Renderer(name, module) for name, module in modules.items()}
