"""The `json` format of statistics: all of it, in a fixed order (docs/stats.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokverify.render.json import header, token_objects, write

if TYPE_CHECKING:
    from tokverify.report.stats import Measured, Row, Stats
    from tokverify.stats.probe import Probe

_DIGITS = 4


def render(stats: Stats) -> str:
    """Write all that was measured as JSON; what can be worked out of the counts is rounded to four digits."""
    names = [measured.name for measured in stats.tokenizers]
    return write(
        {
            **header("stats"),
            "versions": dict(sorted(stats.versions.items())),
            "options": dict(stats.options),
            "files": list(stats.files),
            "summary": {
                "exit_code": stats.exit_code,
                "tokens_per_byte": [_rounded(stats.tokens_per_byte(index)) for index in range(len(names))],
            },
            "tokenizers": list(map(_tokenizer, stats.tokenizers)),
            "texts": [_row(row, names) for row in stats.rows],
        }
    )


def _tokenizer(measured: Measured) -> dict[str, object]:
    return {
        "name": measured.name,
        "source": measured.source,
        "fingerprint": measured.fingerprint,
        "sha256": measured.sha256,
        "vocab_size": measured.vocab_size,
        "ordinary_tokens": measured.ordinary,
        "excluded": dict(measured.excluded),
        **_probe(measured.probe),
        "long_tokens": measured.long_tokens,
        "longest": token_objects(measured.longest),
        "longest_used": token_objects(measured.longest_used),
        "never_used": measured.unused,
        "never_used_examples": token_objects(measured.unused_examples),
        "failures": list(measured.failures),
    }


def _probe(probe: Probe) -> dict[str, object]:
    ratios = probe.against_english
    return {
        "single_token_numbers": probe.single_numbers,
        "long_number_tokens": probe.long_number_tokens,
        "tokens_per_long_number": _rounded(probe.tokens_per_number),
        "indentation": None if probe.indentation is None else {str(n): count for n, count in probe.indentation.items()},
        "spaces_per_token": _rounded(probe.spaces_per_token),
        "trailing_space_is_a_token": probe.trailing_space,
        "language_tokens": None if probe.language_tokens is None else dict(probe.language_tokens),
        "against_english": None if ratios is None else {name: _rounded(ratio) for name, ratio in ratios.items()},
        "mean_against_english": _rounded(probe.mean_against_english),
    }


def _row(row: Row, names: Sequence[str]) -> dict[str, object]:
    return {
        "kind": str(row.kind),
        "name": row.name,
        "pieces": row.pieces,
        "bytes": row.bytes,
        "characters": row.characters,
        "words": row.words,
        "lines_with_trailing_space": row.trailing,
        "tokenizers": [_count(row, index, name) for index, name in enumerate(names)],
    }


def _count(row: Row, index: int, name: str) -> dict[str, object]:
    rates = {f"per_{unit}": _rounded(rate) for unit, rate in row.rates(index).items()}
    return {"name": name, "tokens": row.tokens[index], "unknown": row.unknown[index], **rates}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
