"""The `markdown` format of statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.markdown_text import cell_code, details, document, prose, table
from tokverify.render.stats.text import (
    counts,
    failures,
    length,
    measurements,
    remarks,
    sizes,
    texts_told,
    token_lists,
    verdict,
)
from tokverify.text.visible import visible, visible_message

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.stats import Measured, Stats

_TEXT_HEAD = ("kind", "text", "bytes", "characters", "words", "tokenizer", "tokens", "/byte", "/character", "/word")


def render(stats: Stats, options: RenderOptions) -> str:
    """Write what was measured as Markdown, or as much of it as fits the limit."""
    heading = f"{'❌' if stats.exit_code else '📏'} tokverify stats"
    return document(heading, verdict(stats), _sections(stats, options), options)


def _sections(stats: Stats, options: RenderOptions) -> Iterator[str]:
    sources = [(prose(m.name), cell_code(visible_message(m.source)), f"{m.vocab_size:,}") for m in stats.tokenizers]
    yield table(("tokenizer", "", "tokens"), sources, right=[2])
    yield "".join(f"- {prose(failure)}\n" for failure in failures(stats)) or f"Texts: {prose(texts_told(stats))}\n"
    yield table(_TEXT_HEAD, _texts(stats), right=[2, 3, 4, 6, 7, 8, 9])
    names = [prose(measured.name) for measured in stats.tokenizers]
    found = [
        (prose(what.strip()), *map(prose, values))
        for what, values in measurements(stats.tokenizers, verbose=options.verbose)
    ]
    yield table(("", *names), found, right=range(1, len(names) + 1))
    yield from (_longest(measured) for measured in stats.tokenizers)
    yield "".join(f"- {prose(remark)}\n" for remark in remarks(stats))


def _texts(stats: Stats) -> Iterator[tuple[str, ...]]:
    for row in stats.rows:
        for index, measured in enumerate(stats.tokenizers):
            about = (prose(row.kind), prose(row.name), *sizes(row)) if index == 0 else ("",) * 5
            yield *about, prose(measured.name), *counts(row, index)


def _longest(measured: Measured) -> str:
    rows = [
        (what, str(token.id), f"{length(token):,}", cell_code(visible(token.token_bytes)))
        for what, tokens in token_lists(measured).items()
        for token in tokens
    ]
    title = f"The longest tokens of {visible_message(measured.name)}"
    return details(title, table(("", "id", "characters", "token"), rows, right=[1, 2]))
