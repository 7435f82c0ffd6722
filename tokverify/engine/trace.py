"""What a model notes when it is asked to show its way: words, and how each of them became tokens.

All spans are bytes of the text that a model works on once it is normalized, unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.engine.rewriting import Rewriting

RIVALS = 8
"""So many alternatives are noted of each decision, the best ones; of others it is noted how many there were."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two adjacent symbols that can be joined, and at how many places; `weight` is a rank, or the score of `joined`."""

    left: str
    right: str
    weight: float
    places: int = 1

    @property
    def joined(self) -> str:
        """The symbol that the two make."""
        return self.left + self.right


@dataclass(frozen=True, slots=True)
class Join:
    """One merge: the pair whose left symbol began as the symbol at `index`, and the other pairs there were."""

    index: int
    pair: Pair
    rivals: tuple[Pair, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Spelled:
    """A symbol that is no piece, and the ids that its bytes got; None for a byte that was dropped."""

    symbol: str
    ids: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Merging:
    """How byte-pair encoding joined symbols; `by` is `rank`, of which the lowest wins, or `score`, the highest."""

    by: str
    symbols: tuple[str, ...]
    joins: tuple[Join, ...]
    left: tuple[str, ...]
    spelled: tuple[Spelled, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece from `start` to `end`, what it scores or costs, and the sum of the best way that it completes."""

    start: int
    end: int
    id: int
    piece: str
    weight: float
    total: float


@dataclass(frozen=True, slots=True)
class Row:
    """The decision at one place of a lattice: what was best there, and what else there was, best first."""

    best: Candidate
    rivals: tuple[Candidate, ...]
    left_out: int
    on_path: bool


@dataclass(frozen=True, slots=True)
class Lattice:
    """How the best segmentation was found; `by` is `score`, summed from the left, or `cost`, summed from the right.

    Rows are in the order in which they were decided: by where pieces end for scores, by where they begin for costs.
    """

    by: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The search for the longest piece at one place: what was no piece, longest first, and what was one, if any."""

    start: int
    missed: tuple[bytes, ...]
    left_out: int
    found: bytes | None


@dataclass(frozen=True, slots=True)
class Matching:
    """How the longest piece was taken at each place; without `spelled` the whole word became the unknown token."""

    attempts: tuple[Attempt, ...]
    spelled: bool = True


@dataclass(frozen=True, slots=True)
class Whole:
    """A word that was looked up at once; `reason` says why."""

    reason: str


How = Merging | Lattice | Matching | Whole


@dataclass(frozen=True, slots=True)
class Taken:
    """A token of a word; `spells` says that it is one byte of a symbol that is no piece."""

    id: int
    start: int
    end: int
    spells: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A stretch that was encoded by itself; `pre_token` is the index of the one that it is a part of."""

    start: int
    end: int
    tokens: tuple[Taken, ...]
    how: How
    pre_token: int | None = None


def shifted(word: Word, bytes_before: int, pre_tokens_before: int) -> Word:
    """Return a word that was traced by itself as what it is inside of a longer text."""
    tokens = tuple(replace(t, start=t.start + bytes_before, end=t.end + bytes_before) for t in word.tokens)
    pre_token = None if word.pre_token is None else word.pre_token + pre_tokens_before
    return Word(word.start + bytes_before, word.end + bytes_before, tokens, word.how, pre_token)


@dataclass(frozen=True, slots=True)
class Hit:
    """What made a pre-token: the pattern with this index in the sequence, and which of its alternatives matched.

    Without an alternative the pre-token is what lay between matches of that pattern. `pattern` and `alternative` are
    written as they are compiled, or in words where a pattern is a function.
    """

    pattern_index: int
    pattern: str
    alternative_index: int | None = None
    alternative: str = ""


@dataclass(frozen=True, slots=True)
class PreToken:
    """A chunk that a pre-tokenizer made; without a hit no pattern cut or matched it."""

    start: int
    end: int
    hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class ModelTrace:
    """The way of one stretch of text through a model: its own normalizer, then pre-tokens, then words."""

    rewriting: Rewriting
    words: tuple[Word, ...]
    pre_tokens: tuple[PreToken, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Match:
    """An added token found in the text, from the byte `start` to `end`."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """The text between added tokens, and its way; `trace.rewriting` leads back to bytes counted from `start`."""

    start: int
    end: int
    text: str
    trace: ModelTrace


@dataclass(frozen=True, slots=True)
class EncoderTrace:
    """The way of a whole text; `prefix` and `suffix` are the ids put around it. Spans are bytes of the text."""

    prefix: tuple[int, ...]
    fragments: tuple[Match | Stretch, ...]
    suffix: tuple[int, ...]
