"""The output formats of `tokverify stats`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.render.presentation import Presentation, bind_formats, renderers

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.stats import Stats


STATS_FORMATS: Mapping[str, Callable[[Stats, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.render.stats.table:render",
        "json": "tokverify.render.stats.json:render",
        "markdown": "tokverify.render.stats.markdown:render",
        "html": "tokverify.render.stats.html:render",
    }
)
"""Name -> how statistics are written."""


def present(stats: Stats) -> Presentation:
    """Return how statistics are written."""
    from tokverify.render.stats.text import verdict
    from tokverify.text.visible import visible_message

    return Presentation(bind_formats(STATS_FORMATS, stats), visible_message(verdict(stats)), stats.exit_code)
