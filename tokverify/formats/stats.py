"""The output formats of `tokverify stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.presentation import Presentation, bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.formats import RenderOptions
    from tokverify.stats.report import Stats


def _table(stats: Stats, options: RenderOptions) -> str:
    from tokverify.formats.stats_table import render

    return render(stats, options)


def _json(stats: Stats, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.stats_json import render

    return render(stats)


def _markdown(stats: Stats, options: RenderOptions) -> str:
    from tokverify.formats.stats_markdown import render

    return render(stats, options)


def _html(stats: Stats, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.html.stats import render

    return render(stats)


STATS_FORMATS: Mapping[str, Callable[[Stats, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
}
"""Name -> how statistics are written."""


def present(stats: Stats) -> Presentation:
    """Return how statistics are written."""
    from tokverify.formats.stats_text import verdict
    from tokverify.visible import visible_message

    return Presentation(bound(STATS_FORMATS, stats), visible_message(verdict(stats)), stats.exit_code)
