"""Stats: what was measured, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokverify.stats.probe import Probe
    from tokverify.stats.text import Kind
    from tokverify.stats.vocabulary import Vocabulary
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

    `name` tells it from the others, `source` says where it came from. Of the ordinary tokens, `long_tokens` counts
    those of more than ten characters, `longest` are the longest, and `longest_used` the longest that the texts used.
    `unused` counts those that no text used, the longest of them in `unused_examples`; None where the texts are our own,
    which are too few to tell. `failures` say which texts could not be encoded.
    """

    name: str
    source: str
    vocab_size: int
    vocabulary: Vocabulary
    probe: Probe
    long_tokens: int
    longest: Sequence[Token]
    longest_used: Sequence[Token]
    unused: int | None
    unused_examples: Sequence[Token]
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stats:
    """What was measured, of all tokenizers on the same texts; `files` is empty where these were our own."""

    tokenizers: tuple[Measured, ...]
    rows: tuple[Row, ...]
    files: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if every tokenizer could encode all texts, else 1."""
        return 1 if any(measured.failures for measured in self.tokenizers) else 0
