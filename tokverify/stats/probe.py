"""Probes: how a tokenizer deals with numbers, indentation, the end of a prompt and languages, told by made-up texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.stats.text import ENGLISH, parallel_samples

if TYPE_CHECKING:
    from tokverify.tokenizer import Tokenizer

SHORT_NUMBERS = range(1000)
LONG_NUMBERS = range(1000, 1_000_000, 997)
INDENTATIONS = range(1, 17)

_PROMPT, _ANSWER = "The quick brown fox jumps over the lazy", "dog"


@dataclass(frozen=True, slots=True)
class Probe:
    """What the probes found; None where a tokenizer cannot be asked, as it does not keep the text as it is.

    `single_numbers` is how many of `SHORT_NUMBERS` are one token, `long_number_tokens` how many tokens `LONG_NUMBERS`
    take together. `indentation` maps a number of spaces at the start of a line to the tokens they take.
    `trailing_space` is True where a space at the end of a prompt becomes a token that would not stand there if the text
    went on. `language_tokens` maps a language to the tokens that the same text takes in it, but for languages that are
    partly unknown to the tokenizer.
    """

    single_numbers: int | None = None
    long_number_tokens: int | None = None
    indentation: Mapping[int, int] | None = None
    trailing_space: bool | None = None
    language_tokens: Mapping[str, int] | None = None

    @property
    def tokens_per_number(self) -> float | None:
        """How many tokens a number from 1,000 to 999,999 takes on average."""
        return None if self.long_number_tokens is None else self.long_number_tokens / len(LONG_NUMBERS)

    @property
    def against_english(self) -> Mapping[str, float] | None:
        """How many times the tokens of English the same text takes, by language."""
        counts = self.language_tokens
        return {language: count / counts[ENGLISH] for language, count in counts.items()} if counts else None

    @property
    def spaces_per_token(self) -> float | None:
        """How many spaces of an indentation of 1 to 16 one token holds on average."""
        return sum(self.indentation) / sum(self.indentation.values()) if self.indentation else None

    @property
    def others_against_english(self) -> Mapping[str, float]:
        """`against_english` without English."""
        return {language: ratio for language, ratio in (self.against_english or {}).items() if language != ENGLISH}

    @property
    def mean_against_english(self) -> float | None:
        """How many times the tokens of English the other languages take on average."""
        others = self.others_against_english.values()
        return sum(others) / len(others) if others else None


def probe(tokenizer: Tokenizer, unknown: Collection[int] = ()) -> Probe:
    """Ask a tokenizer all that can be told without a text of the user's; `unknown` are its ids for unknown text."""
    short = [_digit_tokens(tokenizer, number) for number in SHORT_NUMBERS]
    long = [count for number in LONG_NUMBERS if (count := _digit_tokens(tokenizer, number))]
    return Probe(
        single_numbers=short.count(1) if any(short) else None,
        long_number_tokens=sum(long) if len(long) == len(LONG_NUMBERS) else None,
        indentation=_indentation(tokenizer),
        trailing_space=_trailing_space(tokenizer),
        language_tokens=_language_tokens(tokenizer, unknown),
    )


def encode(tokenizer: Tokenizer, text: str) -> list[int] | None:
    """Encode a text as nothing but text; None where that cannot be done."""
    try:
        return tokenizer.encode(text, add_special=False, parse_special=False)
    except (EncodeError, UnsupportedError):
        return None


def _digit_tokens(tokenizer: Tokenizer, number: int) -> int | None:
    """Count the tokens of a number, without one that is nothing but a space put before the text."""
    parts = [part for id in encode(tokenizer, str(number)) or () if (part := tokenizer.token_bytes(id).strip(b" "))]
    return len(parts) if b"".join(parts) == str(number).encode() else None


def _indentation(tokenizer: Tokenizer) -> dict[int, int] | None:
    counts = {width: _indentation_tokens(tokenizer, width) for width in INDENTATIONS}
    told = {width: count for width, count in counts.items() if count}
    return told if len(told) == len(counts) else None


def _indentation_tokens(tokenizer: Tokenizer, width: int) -> int | None:
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


def _trailing_space(tokenizer: Tokenizer) -> bool | None:
    prompt, whole = encode(tokenizer, f"{_PROMPT} "), encode(tokenizer, f"{_PROMPT} {_ANSWER}")
    bare = encode(tokenizer, _PROMPT)
    if prompt is None or whole is None or prompt == bare:
        return None
    return whole[: len(prompt)] != prompt


def _language_tokens(tokenizer: Tokenizer, unknown: Collection[int]) -> dict[str, int] | None:
    encoded = {language: encode(tokenizer, text) for language, text in parallel_samples().items()}
    counts = {language: len(ids) for language, ids in encoded.items() if ids and not set(ids) & set(unknown)}
    return counts if ENGLISH in counts else None
