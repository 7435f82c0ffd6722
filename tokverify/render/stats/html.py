"""The page of statistics: every text with a bar for each tokenizer, and the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.html.page import page, version_list
from tokverify.render.run.html import entries, outcome
from tokverify.render.stats.text import (
    NOTHING,
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
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.stats import Measured, Row, Stats

_OUTCOMES = {
    0: ("Measured", "every tokenizer can encode all texts"),
    1: ("Not all measured", "a tokenizer cannot encode one of the texts"),
}


def render(stats: Stats) -> str:
    """Write a page that holds all statistics."""
    names = [visible_message(measured.name) for measured in stats.tokenizers]
    context = {
        **outcome(f"{', '.join(names)}: statistics", verdict(stats), stats.exit_code, _OUTCOMES),
        "sides": [("tokenizer", _side(measured)) for measured in stats.tokenizers],
        "versions": version_list(stats.versions),
        "options": list(entries(stats.options)),
        "texts": visible_message(texts_told(stats)),
        "names": names,
        "rows": list(_rows(stats)),
        "measurements": [
            (visible_message(what.strip()), what.startswith(" "), list(map(visible_message, found)))
            for what, found in measurements(stats.tokenizers, verbose=True)
        ],
        "longest": [_longest(measured) for measured in stats.tokenizers],
        "failures": list(map(visible_message, failures(stats))),
        "remarks": list(map(visible_message, remarks(stats))),
    }
    return page("stats.html.jinja", ["page.js"], context)


def _side(measured: Measured) -> dict[str, object]:
    digests = {"fingerprint": measured.fingerprint, "sha256": measured.sha256}
    return {
        "name": visible_message(measured.name),
        "source": visible_message(measured.source),
        "reason": "",
        "caveat": "",
        "digests": [(name, visible_message(digest)) for name, digest in digests.items() if digest],
        "settings": [("vocabulary", plural(measured.vocab_size, "token"))],
        "overrides": [],
    }


def _rows(stats: Stats) -> Iterator[dict[str, object]]:
    rates = [row.rates(index)["byte"] for row in stats.rows for index in range(len(stats.tokenizers))]
    most = max((rate for rate in rates if rate is not None), default=0.0)
    for row in stats.rows:
        size, characters, words = sizes(row)
        yield {
            "kind": visible_message(row.kind),
            "name": visible_message(row.name),
            "bytes": size,
            "characters": characters,
            "words": words,
            "counted": [_counted(row, index, most) for index in range(len(stats.tokenizers))],
        }


def _counted(row: Row, index: int, most: float) -> dict[str, object]:
    tokens, by_byte, by_character, by_word = counts(row, index)
    rate = row.rates(index)["byte"]
    return {
        "tokens": tokens,
        "byte": by_byte,
        "character": by_character,
        "word": by_word,
        "bar": None if rate is None or by_byte == NOTHING else round(100 * rate / most, 1) if most else 0,
        "unknown": bool(row.unknown[index]),
    }


def _longest(measured: Measured) -> dict[str, object]:
    return {
        "name": visible_message(measured.name),
        "tokens": [
            (what, token.id, f"{length(token):,}", visible(token.token_bytes))
            for what, tokens in token_lists(measured).items()
            for token in tokens
        ],
    }
