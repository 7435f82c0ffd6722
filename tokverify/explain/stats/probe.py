"""Test how a tokenizer handles numbers, indentation, the end of a prompt and languages."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.explain.stats.text import ENGLISH, parallel_samples
from tokverify.report.stats import SHORT_NUMBERS, ProbeResult
from tokverify.tokenizer import Tokenizer

LONG_NUMBERS = range(1000, 1_000_000, 997)
INDENTATIONS = range(1, 17)

_PROMPT, _ANSWER = "The quick brown fox jumps over the lazy", "dog"


def probe(tokenizer: Tokenizer, unknown: Collection[int] = ()) -> ProbeResult:
    """Test a tokenizer on generated texts; `unknown` are its ids for unknown text."""
    short = [_count_digit_tokens(tokenizer, number) for number in SHORT_NUMBERS]
    long = [_count_digit_tokens(tokenizer, number) or 0 for number in LONG_NUMBERS]
    indentation = _test_indentation(tokenizer)
    language_tokens = _count_language_tokens(tokenizer, unknown)
    against_english = compare_with_english(language_tokens)
    return ProbeResult(
        single_numbers=short.count(1) if any(short) else None,
        tokens_per_long_number=sum(long) / len(long) if all(long) else None,
        indentation=indentation,
        spaces_per_token=sum(indentation) / sum(indentation.values()) if indentation else None,
        trailing_space=_test_trailing_space(tokenizer),
        language_tokens=language_tokens,
        against_english=against_english,
        mean_against_english=sum(against_english.values()) / len(against_english) if against_english else None,
        languages=len(parallel_samples()) - 1,
    )


def compare_with_english(language_tokens: Mapping[str, int] | None) -> dict[str, float] | None:
    """Return the tokens of each other language as a multiple of those in English."""
    if not language_tokens:
        return None
    english = language_tokens[ENGLISH]
    return {language: count / english for language, count in language_tokens.items() if language != ENGLISH}


def encode(tokenizer: Tokenizer, text: str) -> list[int] | None:
    """Encode a text without special tokens; None if that fails."""
    try:
        return tokenizer.encode(text, add_special=False, parse_special=False)
    except (EncodeError, UnsupportedError):
        return None


def _count_digit_tokens(tokenizer: Tokenizer, number: int) -> int | None:
    """Count the tokens of a number; a token that is only an added space does not count."""
    stripped = [tokenizer.token_bytes(id).strip(b" ") for id in encode(tokenizer, str(number)) or ()]
    parts = [part for part in stripped if part]
    return len(parts) if b"".join(parts) == str(number).encode() else None


def _test_indentation(tokenizer: Tokenizer) -> dict[int, int] | None:
    counts = {width: _count_indentation_tokens(tokenizer, width) for width in INDENTATIONS}
    known = {width: count for width, count in counts.items() if count}
    return known if len(known) == len(counts) else None


def _count_indentation_tokens(tokenizer: Tokenizer, width: int) -> int | None:
    """Count the tokens that hold any of `width` spaces between a newline and a letter."""
    parts = [tokenizer.token_bytes(id) for id in encode(tokenizer, f"a\n{' ' * width}b") or ()]
    decoded = b"".join(parts)
    if not decoded.endswith(b"a\n" + b" " * width + b"b"):
        return None
    end = len(decoded) - 1
    count = at = 0
    for part in parts:
        count += at < end and at + len(part) > end - width
        at += len(part)
    return count


def _test_trailing_space(tokenizer: Tokenizer) -> bool | None:
    prompt, whole = encode(tokenizer, f"{_PROMPT} "), encode(tokenizer, f"{_PROMPT} {_ANSWER}")
    bare = encode(tokenizer, _PROMPT)
    if prompt is None or whole is None or prompt == bare:
        return None
    return whole[: len(prompt)] != prompt


def _count_language_tokens(tokenizer: Tokenizer, unknown: Collection[int]) -> dict[str, int] | None:
    encoded = {language: encode(tokenizer, text) for language, text in parallel_samples().items()}
    counts = {language: len(ids) for language, ids in encoded.items() if ids and not set(ids) & set(unknown)}
    return counts if ENGLISH in counts else None
