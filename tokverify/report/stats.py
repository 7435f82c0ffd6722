"""The report of `tokverify stats`: how many tokens each tokenizer needs for texts of many kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tokverify.report.fields import Count, Digest
from tokverify.tokenizer import Token

SHORT_NUMBERS = range(1000)
"""The numbers that are tested for being a single token."""

LONG_TOKEN = 10
"""A token that represents more characters is long."""


class TextKind(StrEnum):
    """What a text consists of."""

    PROSE = "prose"
    CODE = "code"
    DIGITS = "digits"
    WHITE_SPACE = "white space"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """The number of tokens that one tokenizer needs for some texts."""

    name: str
    """The name of the tokenizer."""
    tokens: Count | None
    """None if the tokenizer cannot encode one of the texts; then the rates are None too."""
    unknown: Count
    """Tokens among them that represent text for which there is no token, perhaps a lot of it."""
    per_byte: float | None = None
    """Tokens per byte of UTF-8; None if it is not known."""
    per_character: float | None = None
    """Tokens per character; None if it is not known."""
    per_word: float | None = None
    """None if the words are not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTexts:
    """All texts with the same kind and name."""

    kind: TextKind
    """What they consist of."""
    name: str
    """The language or the script."""
    pieces: Count
    """The number of pieces that the texts were encoded in."""
    bytes: Count
    """Their size in UTF-8."""
    characters: Count
    """The number of their characters."""
    words: Count | None
    """Stretches between white space; None if the script has no spaces between words."""
    trailing: Count
    """Lines that end in spaces or tabs."""
    counts: tuple[TokenCount, ...]
    """One for each tokenizer, in the order of the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """How a tokenizer handles numbers, indentation, the end of a prompt and languages.

    A field is None if the tokenizer does not preserve the text that was tested.
    """

    single_numbers: Count | None = None
    """How many of `SHORT_NUMBERS` are a single token."""
    tokens_per_long_number: float | None = None
    """Tokens per number from 1,000 to 999,999, on average."""
    indentation: Mapping[int, int] | None = None
    """Number of spaces at the start of a line -> tokens that they take."""
    spaces_per_token: float | None = None
    """Spaces that one token holds in an indentation of 1 to 16, on average."""
    trailing_space: bool | None = None
    """Whether a space at the end of a prompt becomes a token that would not be there if the text continued."""
    language_tokens: Mapping[str, int] | None = None
    """Language -> tokens of the same text; languages with unknown tokens are left out."""
    against_english: Mapping[str, float] | None = None
    """Language other than English -> tokens of the same text, as a multiple of those in English."""
    mean_against_english: float | None = None
    """The mean of these multiples."""
    languages: Count = 0
    """The number of languages other than English that were tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredTokenizer:
    """The measurements of one tokenizer."""

    name: str
    """A name that no other tokenizer in the report has."""
    source: str
    """Where the tokenizer came from."""
    fingerprint: Digest | None = None
    """Set for a tokenizer that tokverify encodes with itself."""
    sha256: Digest | None = None
    """The digest of a reference's file."""
    vocab_size: Count
    """The number of tokens."""
    ordinary: Count
    """Tokens that ordinary text can use."""
    excluded: Mapping[str, int]
    """Kind of token -> number of tokens that ordinary text cannot use."""
    probe: ProbeResult
    """How it handles numbers, indentation and languages."""
    long_tokens: Count
    """Ordinary tokens that represent more than `LONG_TOKEN` characters."""
    longest: tuple[Token, ...]
    """The longest ordinary tokens."""
    longest_used: tuple[Token, ...]
    """The longest of those that the texts used."""
    unused: Count | None
    """Ordinary tokens that no text used; None if the texts are the samples, which are too short."""
    unused_examples: tuple[Token, ...]
    """The longest of those."""
    failures: tuple[str, ...] = ()
    """The texts that could not be encoded, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsReport:
    """Measurements of several tokenizers on the same texts."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries it used."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    files: tuple[str, ...] = ()
    """The files that were measured; empty if the texts are the samples."""
    tokenizers: tuple[MeasuredTokenizer, ...]
    """What was measured of each tokenizer."""
    texts: tuple[MeasuredTexts, ...]
    """How many tokens each of them needs for the texts."""
    remarks: tuple[str, ...] = ()
    """What to know when reading the numbers."""


def comparable_texts(stats: StatsReport) -> list[MeasuredTexts]:
    """Return the texts that every tokenizer can encode."""
    return [texts for texts in stats.texts if all(count.tokens is not None for count in texts.counts)]


def tokens_per_byte(stats: StatsReport, index: int) -> float | None:
    """Return the tokens per byte of one tokenizer in the comparable texts; None if there are none."""
    texts = comparable_texts(stats)
    size = sum(text.bytes for text in texts)
    return sum(text.counts[index].tokens or 0 for text in texts) / size if size else None


def stats_exit_code(stats: StatsReport) -> int:
    """Return 0 if every tokenizer can encode all texts, else 1."""
    return 1 if any(measured.failures for measured in stats.tokenizers) else 0


def summarize_stats(stats: StatsReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    rates = [tokens_per_byte(stats, index) for index in range(len(stats.tokenizers))]
    return {"exit_code": stats_exit_code(stats), "tokens_per_byte": rates}


def check_stats(stats: StatsReport, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    names = [measured.name for measured in stats.tokenizers]
    for index, texts in enumerate(stats.texts):
        if [count.name for count in texts.counts] != names:
            yield f"{path}.texts[{index}].counts: expected one object for each tokenizer, in order"
