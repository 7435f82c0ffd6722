"""The HTML page of statistics: every text with a bar for each tokenizer, and the tables."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.case_text import shortened
from tokverify.render.html.page import page, version_list
from tokverify.render.run.html import entries, outcome
from tokverify.render.stats.text import (
    NOTHING,
    count_characters,
    describe_texts,
    format_count,
    format_measurements,
    format_sizes,
    format_vocabulary,
    list_failures,
    token_lists,
)
from tokverify.render.stats.verdict import verdict
from tokverify.report.stats import MeasuredTokenizer, StatsReport, TokenCount, stats_exit_code
from tokverify.text.utf8 import to_text
from tokverify.text.visible import visible_message

_OUTCOMES = {
    0: ("Measured", "every tokenizer can encode all texts"),
    1: ("Not all measured", "a tokenizer cannot encode one of the texts"),
}


def render(stats: StatsReport) -> str:
    """Render all statistics as one page."""
    names = [visible_message(measured.name) for measured in stats.tokenizers]
    context = {
        **outcome(f"{', '.join(names)}: statistics", verdict(stats), stats_exit_code(stats), _OUTCOMES),
        "sides": [("tokenizer", _side(measured)) for measured in stats.tokenizers],
        "versions": version_list(stats.versions),
        "options": list(entries(stats.options)),
        "texts": visible_message(describe_texts(stats)),
        "names": names,
        "rows": list(_rows(stats)),
        "measurements": [
            (visible_message(what.strip()), what.startswith(" "), list(map(visible_message, found)))
            for what, found in format_measurements(stats.tokenizers, verbose=True)
        ],
        "longest": [_longest(measured) for measured in stats.tokenizers],
        "failures": list(map(visible_message, list_failures(stats))),
        "remarks": list(map(visible_message, stats.remarks)),
    }
    return page("stats/page.html.jinja", ["html/page.js"], context)


def _side(measured: MeasuredTokenizer) -> dict[str, object]:
    digests = {"fingerprint": measured.fingerprint, "sha256": measured.sha256}
    return {
        "name": visible_message(measured.name),
        "source": visible_message(measured.source),
        "reason": "",
        "caveat": "",
        "digests": [(name, visible_message(digest)) for name, digest in digests.items() if digest],
        "settings": [("vocabulary", format_vocabulary(measured))],
        "overrides": [],
    }


def _rows(stats: StatsReport) -> Iterator[dict[str, object]]:
    counts = [count for texts in stats.texts for count in texts.counts]
    most = max((count.per_byte or 0.0 for count in counts), default=0.0)
    for texts in stats.texts:
        size, characters, words = format_sizes(texts)
        yield {
            "kind": visible_message(texts.kind),
            "name": visible_message(texts.name),
            "bytes": size,
            "characters": characters,
            "words": words,
            "counted": [_count(count, most) for count in texts.counts],
        }


def _count(count: TokenCount, most: float) -> dict[str, object]:
    tokens, by_byte, by_character, by_word = format_count(count)
    rate = count.per_byte
    return {
        "tokens": tokens,
        "byte": by_byte,
        "character": by_character,
        "word": by_word,
        "bar": None if rate is None or by_byte == NOTHING else round(100 * rate / most, 1) if most else 0,
        "unknown": bool(count.unknown),
    }


def _longest(measured: MeasuredTokenizer) -> dict[str, object]:
    return {
        "name": visible_message(measured.name),
        "tokens": [
            (what, token.id, f"{count_characters(token):,}", shortened(to_text(token.token_bytes)))
            for what, tokens in token_lists(measured).items()
            for token in tokens
        ],
    }
