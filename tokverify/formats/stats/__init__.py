"""The output formats of `tokverify stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.presentation import Presentation, bound, renderers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.formats import RenderOptions
    from tokverify.stats.report import Stats


STATS_FORMATS: Mapping[str, Callable[[Stats, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.formats.stats.table:render",
        "json": "tokverify.formats.stats.json:render",
        "markdown": "tokverify.formats.stats.markdown:render",
        "html": "tokverify.formats.html.stats:render",
    }
)
"""Name -> how statistics are written."""


def present(stats: Stats) -> Presentation:
    """Return how statistics are written."""
    from tokverify.formats.stats.text import verdict
    from tokverify.visible import visible_message

    return Presentation(bound(STATS_FORMATS, stats), visible_message(verdict(stats)), stats.exit_code)
