"""The output formats of `tokverify stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.render.presentation import Presentation, bind_formats, build_formats
from tokverify.report.stats import comparable_texts, stats_exit_code, tokens_per_byte
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.render.document import Document
    from tokverify.report.stats import StatsReport


def verdict(stats: StatsReport) -> str:
    """Summarize, such as `18 texts, 10,374 bytes: 0.476 tokens per byte with gpt-2, 0.269 with gemma-3`."""
    texts = comparable_texts(stats)
    size = sum(text.bytes for text in texts)
    parts = [
        f"{plural(len(texts), 'text')}, {plural(size, 'byte')}:"
        f" {', '.join(_describe_rates(stats)) or 'no text that all tokenizers can encode'}"
    ]
    parts += [
        f"{measured.name} cannot encode {plural(len(measured.failures), 'text')}"
        for measured in stats.tokenizers
        if measured.failures
    ]
    return "; ".join(parts)


def _describe_rates(stats: StatsReport) -> list[str]:
    rates = []
    for index, measured in enumerate(stats.tokenizers):
        rate = tokens_per_byte(stats, index)
        if rate is not None:
            rates.append(f"{rate:.3f} {'' if index else 'tokens per byte '}with {measured.name}")
    return rates


def _describe(stats: StatsReport, options: RenderOptions) -> Document:
    from tokverify.render.stats.describe import describe

    return describe(stats, options)


def _render_html(stats: StatsReport) -> str:
    from tokverify.render.stats.html import render

    return render(stats)


STATS_FORMATS = build_formats(_describe, html=_render_html)
"""Format name -> renderer."""


def present(stats: StatsReport) -> Presentation:
    """Return the formats, the verdict and the exit code of statistics."""
    return Presentation(bind_formats(STATS_FORMATS, stats), visible_message(verdict(stats)), stats_exit_code(stats))
