"""Stats: what was measured, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.stats.probe import Probe
    from tokverify.stats.text import Kind
    from tokverify.tokenizer import Token


@dataclass(frozen=True, slots=True)
class Row:
    """All texts of one kind and name together, and how many tokens each tokenizer makes of them.

    `pieces` is how many pieces they were encoded in. `words` are what stands between white space, None where the script
    has no spaces between words. `trailing` counts lines that end in spaces or tabs. A count of tokens is None where the
    tokenizer cannot encode one of the texts. `unknown` counts the tokens among them that stand for text without a token
    of its own, perhaps much of it.
    """

    kind: Kind
    name: str
    pieces: int
    bytes: int
    characters: int
    words: int | None
    trailing: int
    tokens: tuple[int | None, ...]
    unknown: tuple[int, ...]

    def rates(self, index: int) -> dict[str, float | None]:
        """Return the tokens of one tokenizer by byte, by character and by word."""
        units = {"byte": self.bytes, "character": self.characters, "word": self.words}
        count = self.tokens[index]
        return {unit: count / size if count is not None and size else None for unit, size in units.items()}


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found of one tokenizer.

    `name` tells it from the others, `source` says where it came from, and what exactly it was `fingerprint` (of one
    that tokverify encodes with) or `sha256` (of a reference's file). `ordinary` counts the tokens that ordinary text
    can use, `excluded` the others by kind. Of the ordinary ones, `long_tokens` counts those of more than ten
    characters, `longest` are the longest, and `longest_used` the longest that the texts used. `unused` counts those
    that no text used, the longest of them in `unused_examples`; None where the texts are our own, which are too few to
    tell. `failures` say which texts could not be encoded.
    """

    name: str
    source: str
    vocab_size: int
    ordinary: int
    excluded: Mapping[str, int]
    probe: Probe
    long_tokens: int
    longest: Sequence[Token]
    longest_used: Sequence[Token]
    unused: int | None
    unused_examples: Sequence[Token]
    failures: tuple[str, ...] = ()
    fingerprint: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Stats:
    """What was measured, of all tokenizers on the same texts; `files` is empty where these were our own.

    `options` is what was asked for, `versions` what did the work.
    """

    tokenizers: tuple[Measured, ...]
    rows: tuple[Row, ...]
    files: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def encoded_by_all(self) -> list[Row]:
        """The texts that every tokenizer could encode."""
        return [row for row in self.rows if None not in row.tokens]

    def tokens_per_byte(self, index: int) -> float | None:
        """Return the tokens that one tokenizer takes for a byte of what all could encode; None if that is nothing."""
        size = sum(row.bytes for row in self.encoded_by_all)
        return sum(row.tokens[index] or 0 for row in self.encoded_by_all) / size if size else None

    @property
    def exit_code(self) -> int:
        """0 if every tokenizer could encode all texts, else 1."""
        return 1 if any(measured.failures for measured in self.tokenizers) else 0
