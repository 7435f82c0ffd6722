"""Write statistics as JSON (docs/stats.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.json import header, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokverify.stats.probe import Probe
    from tokverify.stats.report import Measured, Row, Stats
    from tokverify.tokenizer import Token

_DIGITS = 4


def render_json(stats: Stats) -> str:
    """Write all that was measured; rates are rounded to four digits."""
    names = [measured.name for measured in stats.tokenizers]
    return write(
        {
            **header("stats"),
            "files": list(stats.files),
            "tokenizers": [_tokenizer(measured) for measured in stats.tokenizers],
            "texts": [_row(row, names) for row in stats.rows],
        }
    )


def _tokenizer(measured: Measured) -> dict[str, object]:
    return {
        "name": measured.name,
        "source": measured.source,
        "vocab_size": measured.vocab_size,
        "ordinary_tokens": len(measured.vocabulary.ids),
        "excluded": dict(measured.vocabulary.excluded),
        **_probe(measured.probe),
        "long_tokens": measured.long_tokens,
        "longest": _tokens(measured.longest),
        "longest_used": _tokens(measured.longest_used),
        "never_used": measured.unused,
        "never_used_examples": _tokens(measured.unused_examples),
        "failures": list(measured.failures),
    }


def _probe(probe: Probe) -> dict[str, object]:
    languages = None
    if probe.against_english is not None:
        languages = {language: _rounded(ratio) for language, ratio in probe.against_english.items()}
    return {
        "single_token_numbers": probe.single_numbers,
        "tokens_per_long_number": _rounded(probe.tokens_per_number),
        "spaces_per_token": _rounded(probe.spaces_per_token),
        "indentation": None if probe.indentation is None else {str(n): count for n, count in probe.indentation.items()},
        "trailing_space_is_a_token": probe.trailing_space,
        "against_english": languages,
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


def _tokens(tokens: Sequence[Token]) -> list[dict[str, object]]:
    return [{"id": token.id, "piece": token.piece, "bytes": token.token_bytes.hex()} for token in tokens]
