"""Explanation: how one text becomes tokens, stage by stage, as data.

Texts in it are strings even where they hold bytes that are not UTF-8: such a byte is a lone surrogate, as Python's
`surrogateescape` makes it. Spans are byte offsets (start, end).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tokverify.report.difference import Difference
from tokverify.tokenizer import HexBytes, Token

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Replacement:
    """One change made by the normalizer."""

    span: Span
    """In the text of the stretch."""
    before: str
    """Empty where something is inserted."""
    after: str
    """Empty where something is dropped."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """The part of the pre-tokenizer that produced a pre-token. Indexes start at 0."""

    pattern_index: int
    """The index of the pattern."""
    pattern: str
    """The text of the pattern."""
    alternative_index: int | None
    """The alternative that matched; None for text between two matches of the pattern."""
    alternative: str
    """The text of that alternative."""


@dataclass(frozen=True, slots=True)
class PreToken:
    """A chunk produced by the pre-tokenizer."""

    span: Span
    """In the normalized text."""
    text: str
    """The chunk."""
    made_by: PatternMatch | None
    """None where no pattern matched."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two adjacent symbols that can be merged."""

    left: str
    """The first symbol."""
    right: str
    """The second symbol."""
    weight: float
    """The rank of the merge, or the score of the merged piece."""
    places: int
    """How often the pair occurs in the word."""
    reference_rank: int | None = None
    """The rank of this merge in the reference; None if it does not list the pair, or lists no merges."""

    @property
    def joined(self) -> str:
        """The symbol that results from the merge."""
        return self.left + self.right


@dataclass(frozen=True, slots=True)
class Merge:
    """One merge, and the pairs it was preferred to."""

    symbol_index: int
    """The index of the left symbol among the symbols that the word started with."""
    pair: Pair
    """The pair that was merged."""
    competitors: tuple[Pair, ...]
    """The best of the other pairs, best first."""
    competitors_left_out: int
    """How many more there were."""
    symbols: tuple[str, ...]
    """The symbols after this merge; empty for long words."""
    merged_index: int
    """The index of the merged symbol in `symbols`."""
    symbol_ids: tuple[int | None, ...]
    """The ids of `symbols`; None for a symbol that is not a piece."""


@dataclass(frozen=True, slots=True)
class ByteFallback:
    """A symbol that is not a piece, and the tokens of its bytes."""

    symbol: str
    """The symbol."""
    ids: tuple[int | None, ...]
    """One per byte; None for a byte without a token, which is dropped."""
    pieces: tuple[str | None, ...]
    """The pieces of these ids; None likewise."""


@dataclass(frozen=True, slots=True)
class Merging:
    """How byte-pair encoding merged the symbols of a word."""

    by: str
    """What decides: `rank` (the lowest wins) or `score` (the highest wins)."""
    symbols: tuple[str, ...]
    """The symbols before the first merge."""
    symbol_ids: tuple[int | None, ...]
    """Their ids; None for a symbol that is not a piece."""
    merges: tuple[Merge, ...]
    """The merges in the order in which they were made."""
    byte_fallbacks: tuple[ByteFallback, ...]
    """The symbols that are no pieces at the end."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A piece that fits at a position of a lattice."""

    span: Span
    """In the normalized text."""
    id: int
    """-1 for a character that is encoded byte by byte."""
    piece: str
    """The piece."""
    weight: float
    """Its score or cost."""
    total: float
    """The best sum of the path that it completes."""
    is_unknown: bool
    """Whether this is the unknown token."""


@dataclass(frozen=True, slots=True)
class LatticeRow:
    """The decision at one position of a lattice."""

    best: Candidate
    """The candidate that was chosen."""
    competitors: tuple[Candidate, ...]
    """The best of the other candidates, best first."""
    competitors_left_out: int
    """How many more there were."""
    on_path: bool
    """Whether the best segmentation goes through this row."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """How the best segmentation of a word was found."""

    by: str
    """`score` (summed from the beginning, the highest wins) or `cost` (summed from the end, the lowest wins)."""
    rows: tuple[LatticeRow, ...]
    """In the order in which they were decided: by the ends of pieces for scores, by their starts for costs."""
    initial: LatticeEntry | None
    """The entry of every position of the text before the first step, except that the sum at 0 is 0; None for costs."""
    steps: tuple[LatticeStep, ...]
    """The search step by step; empty for costs and for long words."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The search for the longest piece at one position."""

    start: int
    """The position in the normalized text."""
    found: str | None
    """The longest piece; None where none fits."""
    missing: tuple[str, ...]
    """Longer candidates that are not pieces, longest first."""
    missing_left_out: int
    """How many more there are."""


@dataclass(frozen=True, slots=True)
class Matching:
    """How the longest piece was taken at each position of a word."""

    attempts: tuple[Attempt, ...]
    """The searches, in order."""
    complete: bool
    """Whether pieces cover the whole word; otherwise it became the unknown token."""


@dataclass(frozen=True, slots=True)
class Word:
    """A part of a stretch that the model encoded by itself. Exactly one of the last four fields says how."""

    span: Span
    """In the normalized text."""
    source_span: Span
    """In the whole text."""
    text: str
    """The normalized text of the part."""
    pre_token: int | None
    """The index of the pre-token that it belongs to."""
    ids: tuple[int, ...]
    """Its ids."""
    pieces: tuple[str, ...]
    """The pieces of these ids."""
    merging: Merging | None = None
    """How byte-pair encoding merged it."""
    lattice: Lattice | None = None
    """How its best segmentation was found."""
    matching: Matching | None = None
    """How the longest piece was taken at each position."""
    reason: str | None = None
    """Why the whole word was looked up at once."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The text between two added tokens."""

    span: Span
    """In the whole text."""
    text: str
    """The text."""
    normalized: str
    """The text after normalization."""
    charsmap: tuple[CharsmapSearch, ...]
    """The searches in the charsmap; empty for models without one."""
    changes: tuple[Replacement, ...]
    """What normalization replaced."""
    pre_tokens: tuple[PreToken, ...]
    """The chunks of the normalized text."""
    words: tuple[Word, ...]
    """What the model encoded, in order."""


@dataclass(frozen=True, slots=True)
class AddedTokenMatch:
    """An added token found in the text."""

    span: Span
    """In the whole text."""
    id: int
    """Its id."""
    piece: str
    """The stored string."""
    type: str
    """Its effective type, such as `USER_DEFINED`."""
    missing_piece: str | None
    """The piece that the model would need in order to produce this text by itself; None if there is such a piece."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of the text: exactly one of the two fields is set."""

    added_token: AddedTokenMatch | None = None
    """The added token that was found."""
    stretch: Stretch | None = None
    """The text between two of them."""


@dataclass(frozen=True, slots=True)
class ExplainedToken:
    """A token of the result."""

    token: Token
    """The token."""
    span: Span
    """In the whole text."""
    source: str
    """`model`, `byte` (one byte of a symbol that is not a piece), `unknown`, `added` or `special`."""
    word: int | None = None
    """The index of its word, counted across all stretches; None for added and special tokens."""
    category: str = ""
    """What kind of thing it stands for, such as `keywords`; empty where the tokenizer knows no kinds."""


class StageOutcome(StrEnum):
    """The result of comparing one stage."""

    SAME = "same"
    DIFFERS = "differs"
    HIDDEN = "not shown"


@dataclass(frozen=True, slots=True)
class StageComparison:
    """One stage of both sides."""

    stage: str
    """The name of the stage."""
    outcome: StageOutcome
    """How the two sides compare there."""
    actual: tuple[str, ...] = ()
    """What our side has at the first difference."""
    expected: tuple[str, ...] = ()
    """What the reference has at the first difference."""
    actual_code_points: tuple[str, ...] = ()
    """The names of our first characters from the first difference on, where characters are compared."""
    expected_code_points: tuple[str, ...] = ()
    """The names of the reference's first characters from the first difference on."""
    note: str = ""
    """Why the stage is hidden."""


@dataclass(frozen=True, slots=True)
class StageDivergence:
    """The result of a reference next to ours, and the first stage at which they diverge."""

    name: str
    """The name of the reference."""
    tokens: tuple[Token, ...]
    """The reference's tokens."""
    stages: tuple[StageComparison, ...]
    """What both sides have at each stage."""
    first: str | None
    """The first stage that differs; None where the ids are equal."""
    difference: Difference | None
    """The differing tokens of the result; None if there are none."""
    differing_tokens: tuple[int, ...]
    """The indexes of our tokens that the reference does not have, ascending."""
    has_merge_ranks: bool
    """Whether the reference lists merges, whose ranks are then in `reference_rank`."""
    notes: tuple[str, ...]
    """Which options could not be compared as requested, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How a text becomes tokens."""

    text: str
    """The text that was encoded."""
    name: str
    """The name of the model."""
    algorithm: str
    """The name of the model's algorithm."""
    method: str
    """What the algorithm does, as a predicate such as `takes the longest token at each position`."""
    pre: str | None
    """The pre-tokenizer; None for models without one."""
    patterns: int
    """How many patterns the pre-tokenizer has."""
    add_special: bool
    """Whether tokens such as BOS and EOS are added around the text."""
    parse_special: bool
    """Whether control tokens in the text are recognized."""
    added_tokens: int
    """How many added tokens were searched for."""
    prefix: tuple[Token, ...]
    """The tokens added before the text."""
    fragments: tuple[Fragment, ...]
    """The parts of the text between and at added tokens, in order."""
    suffix: tuple[Token, ...]
    """The tokens added after the text."""
    without_user_defined: tuple[Token, ...] | None
    """The tokens without USER_DEFINED tokens being matched in the text; None where none was matched."""
    ids: tuple[int, ...]
    """The result."""
    tokens: tuple[ExplainedToken, ...]
    """The result, with the place in the text that each token comes from."""
    warnings: tuple[str, ...]
    """Likely mistakes in the ids, such as a second BOS, and what llama.cpp cannot do of a tokenizer.json."""
    reference: StageDivergence | None = None
    """Where the reference first goes another way; None without one."""


def list_stretches(explained: Explanation) -> list[Stretch]:
    """Return the stretches of text between added tokens."""
    return [fragment.stretch for fragment in explained.fragments if fragment.stretch]


@dataclass(frozen=True, slots=True)
class CharsmapStep:
    """One byte of a search in the charsmap, and the entry of the double array that it leads to."""

    byte: int
    """The byte."""
    node: int
    """The index of the entry: the base before it, XOR the byte."""
    label: int
    """The byte that the entry belongs to; if it is another one, the search ends."""
    base: int | None
    """The base of the entry's children; None if the search ends here."""
    replacement: str | None
    """The replacement, if a string of the map ends here."""


@dataclass(frozen=True, slots=True)
class CharsmapSearch:
    """The search for the longest string of the charsmap at one or more positions."""

    starts: tuple[int, ...]
    """The positions in the text of the stretch where the search is the same."""
    root: int
    """The base for the first byte."""
    steps: tuple[CharsmapStep, ...]
    """The search, byte by byte."""
    length: int
    """How many bytes the longest string has; 0 if there is none."""
    replacement: str | None
    """What replaces them."""


@dataclass(frozen=True, slots=True)
class LatticeEntry:
    """What is known about the text up to one position."""

    end: int
    """The position in the normalized text."""
    id: int
    """The best last piece; the unknown token as long as the position was not reached."""
    start: int
    """Where this piece starts."""
    total: float
    """The best sum; the lowest possible number as long as the position was not reached."""


@dataclass(frozen=True, slots=True)
class LatticeTrial:
    """A piece that fits at the position of a step."""

    id: int
    """Its id."""
    piece: str
    """The piece."""
    end: int
    """Where it ends."""
    weight: float
    """Its score."""
    total: float
    """The sum of the segmentation that it completes."""
    is_best: bool
    """Whether its sum is greater than all before it, so that it becomes the entry at `end`."""


@dataclass(frozen=True, slots=True)
class LatticeStep:
    """One step from the left: the pieces that start at a position, and the entries after they were tried."""

    start: int
    """The position in the normalized text."""
    trials: tuple[LatticeTrial, ...]
    """The pieces that fit."""
    entries: tuple[LatticeEntry, ...]
    """The entries of all positions that have been reached, ascending, without the beginning."""


@dataclass(frozen=True, slots=True)
class TokenMerge:
    """One merge that builds a token: its bytes are those of two others, one after the other."""

    id: int
    """The token that results."""
    token_bytes: HexBytes
    """Its bytes."""
    left: Token
    """The token of its first bytes."""
    right: Token
    """The token of the rest."""


@dataclass(frozen=True, slots=True)
class DecodedToken:
    """One id, and what it adds to the text."""

    token: Token
    """The id, its piece, and the bytes that the piece represents."""
    type: str
    """Its effective type, such as `CONTROL`."""
    rule: str
    """How the bytes follow from the piece."""
    added: HexBytes
    """The bytes that it adds to the text."""
    note: str
    """Why these are not the bytes that it represents; empty if they are."""
    merges: tuple[TokenMerge, ...]
    """The merges that build it, the last one first; empty for tokens that no merge builds."""


@dataclass(frozen=True, slots=True)
class DecodingExplanation:
    """How ids become a text."""

    name: str
    """The name of the model."""
    algorithm: str
    """The name of the model's algorithm."""
    ids: tuple[int, ...]
    """The ids that were decoded."""
    stopped_at: int | None
    """The index of the end-of-generation token where decoding stopped; None if it did not stop."""
    tokens: tuple[DecodedToken, ...]
    """What each token adds to the text."""
    decoded: HexBytes
    """The text; its bytes need not be valid UTF-8."""
    cleaned_up: HexBytes | None
    """The text as `llama_detokenize` returns it, if it removes further spaces from it; None if not."""


@dataclass(frozen=True, slots=True)
class ExposedMatch:
    """An added token that was found in the text."""

    span: Span
    """Its bytes in the text."""
    id: int
    """Its id."""
    piece: str
    """The stored string."""


@dataclass(frozen=True, slots=True)
class ExposedStretch:
    """A stretch of text between added tokens."""

    span: Span
    """Its bytes in the text."""
    normalized: str
    """The text after normalization."""
    pre_tokens: tuple[str, ...] | None
    """None if the tokenizer has no such stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedExplanation:
    """How one text becomes tokens, as far as a library, a server or a program shows it."""

    text: str
    """The text that was encoded."""
    name: str
    """The name of the tokenizer."""
    source: str
    """Where the tokenizer comes from."""
    add_special: bool
    """Whether the tokens around a text were added."""
    parse_special: bool
    """Whether control tokens in the text were parsed."""
    matches: tuple[ExposedMatch, ...] | None
    """None if they are not shown."""
    stretches: tuple[ExposedStretch, ...] | None
    """None if they are not shown."""
    hidden: str
    """Why something is not shown."""
    tokens: tuple[Token, ...]
    """The result."""
    reference: str | None
    """The name of the tokenizer that was compared; None if there was none."""
    difference: Difference | None
    """How its tokens differ; None if the ids are the same, or there is no reference."""
