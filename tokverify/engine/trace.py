"""Define the traces that models record: words, and how each of them became tokens.

What a report shows as it was recorded is a record of `tokverify.report.explain`.

All spans are byte offsets in the normalized text, unless stated otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tokverify.report.explain import Lattice, Matching, Pair, PatternMatch

if TYPE_CHECKING:
    from tokverify.engine.charsmap import CharsmapWalk
    from tokverify.engine.rewriting import Rewriting

RIVALS = 8
"""The number of alternatives recorded for each decision, best first; others are only counted."""

STEPS = 40
"""The steps of a search are recorded only for words of at most this many symbols, because each lists all entries."""


@dataclass(frozen=True, slots=True)
class Join:
    """One merge: the pair whose left symbol starts at the original symbol `index`, and the other possible pairs."""

    index: int
    pair: Pair
    rivals: tuple[Pair, ...]
    left_out: int = 0
    id: int | None = None
    """The id of the merged symbol; None if it is not a piece."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A symbol that is not a piece, and the ids of its bytes; None for a byte that was dropped."""

    symbol: str
    ids: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Merging:
    """How byte-pair encoding merged symbols; `by` is `rank` (the lowest wins) or `score` (the highest wins)."""

    by: str
    symbols: tuple[str, ...]
    joins: tuple[Join, ...]
    left: tuple[str, ...]
    spelled: tuple[Spelled, ...] = ()
    ids: tuple[int | None, ...] = ()
    """The ids of `symbols`; None for one that is not a piece."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A word that was looked up as a whole; `reason` explains why."""

    reason: str


How = Merging | Lattice | Matching | Whole


@dataclass(frozen=True, slots=True)
class Taken:
    """A token of a word; `spells` means that it represents one byte of a symbol that is not a piece."""

    id: int
    start: int
    end: int
    spells: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """A part of the text that was encoded independently; `pre_token` is the index of the pre-token it belongs to."""

    start: int
    end: int
    tokens: tuple[Taken, ...]
    how: How
    pre_token: int | None = None


def shift(word: Word, bytes_before: int, pre_tokens_before: int) -> Word:
    """Adjust a word that was traced separately to its position in a longer text."""
    tokens = tuple(replace(t, start=t.start + bytes_before, end=t.end + bytes_before) for t in word.tokens)
    pre_token = None if word.pre_token is None else word.pre_token + pre_tokens_before
    return Word(word.start + bytes_before, word.end + bytes_before, tokens, word.how, pre_token)


@dataclass(frozen=True, slots=True)
class PreToken:
    """A chunk produced by a pre-tokenizer; `made_by` is None if no pattern split or matched it."""

    start: int
    end: int
    made_by: PatternMatch | None = None


def shift_pre_token(pre_token: PreToken, bytes_before: int) -> PreToken:
    """Adjust a pre-token that was traced separately to its position in a longer text."""
    return replace(pre_token, start=pre_token.start + bytes_before, end=pre_token.end + bytes_before)


@dataclass(frozen=True, slots=True)
class ModelTrace:
    """One part of a text in the stages of a model: its own normalizer, then pre-tokens, then words."""

    rewriting: Rewriting
    words: tuple[Word, ...]
    pre_tokens: tuple[PreToken, ...] = field(default=())
    walks: tuple[CharsmapWalk, ...] = ()
    """The searches in the charsmap, one for each position of the text where the normalizer starts one."""


@dataclass(frozen=True, slots=True)
class Match:
    """An added token found in the text, from the byte `start` to `end`."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """The text between added tokens, and its trace; `trace.rewriting` maps back to bytes counted from `start`."""

    start: int
    end: int
    text: str
    trace: ModelTrace


@dataclass(frozen=True, slots=True)
class EncoderTrace:
    """The trace of a whole text; `prefix` and `suffix` are the ids added around it. Spans are bytes of the text."""

    prefix: tuple[int, ...]
    fragments: tuple[Match | Stretch, ...]
    suffix: tuple[int, ...]
