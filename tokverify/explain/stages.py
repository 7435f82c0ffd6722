"""Parting: the first stage at which our way of a text and a reference's part, as far as the reference shows its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tokverify.engine.normalizer import unescape_spaces
from tokverify.engine.trace import Match, Stretch
from tokverify.errors import EncodeError
from tokverify.tokenizer import Staged, Token, tokens_of
from tokverify.verify.alignment import Difference, compare

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.engine.family import Family
    from tokverify.explain.explanation import Explanation
    from tokverify.tokenizer import StageStretch, Tokenizer, TokenizerStages

_AROUND = 8
"""Characters or pre-tokens shown around a difference."""
_NEAR = 2


class Outcome(StrEnum):
    """What comparing one stage came to."""

    SAME = "same"
    DIFFERS = "differs"
    HIDDEN = "not shown"


@dataclass(frozen=True, slots=True)
class StageComparison:
    """One stage of both sides; `actual` and `expected` are what they have where they first differ."""

    stage: str
    outcome: Outcome
    actual: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Parting:
    """The reference's result beside ours; `first` is the stage to blame, None where the ids are equal.

    `differing` are the indexes of our tokens that the reference has not.
    """

    name: str
    tokens: tuple[Token, ...]
    stages: tuple[StageComparison, ...]
    first: str | None
    difference: Difference | None
    differing: frozenset[int]
    notes: tuple[str, ...]


def part(explained: Explanation, encoder: Encoder, reference: Tokenizer) -> Parting:
    """Encode the text with `reference` too, and compare stage by stage."""
    text, parse_special = explained.text, explained.parse_special
    ids = reference.encode(text, add_special=explained.add_special, parse_special=parse_special)
    actual, expected = [token.token for token in explained.tokens], tokens_of(reference, ids)
    difference = None if explained.ids == ids else compare(actual, expected)
    differing, expected_differing = _differing(difference)
    stages = list(_special_stage(explained, encoder, reference, ids))
    shown = _stages_of(reference, text, parse_special=parse_special)
    if isinstance(shown, str):
        hidden = (StageComparison(stage, Outcome.HIDDEN, note=shown) for stage in ("added tokens", "normalization"))
        stages = [*hidden, *stages]
    else:
        relevant = {ids[index] for index in expected_differing}
        stages = [
            _added_stage(explained, shown, reference, (differing, relevant) if difference else None),
            _normalization_stage(explained, encoder.settings.family, shown),
            *_pre_token_stage(explained, shown),
            *stages,
        ]
    first = next((stage.stage for stage in stages if stage.outcome is Outcome.DIFFERS), "model") if difference else None
    return Parting(
        reference.name, tuple(expected), tuple(stages), first, difference, differing, _notes(explained, reference)
    )


def _stages_of(reference: Tokenizer, text: str, *, parse_special: bool) -> TokenizerStages | str:
    if not isinstance(reference, Staged):
        return f"{reference.name} gives ids only"
    try:
        return reference.stages(text, parse_special=parse_special)
    except EncodeError as error:
        return str(error)


def _notes(explained: Explanation, reference: Tokenizer) -> tuple[str, ...]:
    notes = []
    if explained.parse_special and not reference.parses_special:
        notes.append(f"{reference.name} never takes anything in a text for a control token")
    if explained.add_special and not reference.adds_special:
        notes.append(f"{reference.name} does not know which tokens go around a text")
    return tuple(notes)


def _differing(difference: Difference | None) -> tuple[frozenset[int], list[int]]:
    """Return the indexes of the tokens in blocks that differ, ours and theirs."""
    actual: list[int] = []
    expected: list[int] = []
    i = j = 0
    for block in difference.blocks if difference else ():
        if not block.equal:
            actual += range(i, i + len(block.actual))
            expected += range(j, j + len(block.expected))
        i, j = i + len(block.actual), j + len(block.expected)
    return frozenset(actual), expected


def _special_stage(
    explained: Explanation, encoder: Encoder, reference: Tokenizer, ids: Sequence[int]
) -> Iterator[StageComparison]:
    """Compare the model's result, and then what is put around it."""
    trace = explained.trace
    own = explained.ids[len(trace.prefix) : len(explained.ids) - len(trace.suffix)]
    theirs = list(ids)
    if explained.add_special:
        theirs = reference.encode(explained.text, add_special=False, parse_special=explained.parse_special)
    if own == theirs:
        yield StageComparison("model", Outcome.SAME)
    else:
        difference = compare(tokens_of(encoder, own), tokens_of(reference, theirs))
        block = next(block for block in difference.blocks if not block.equal)
        actual, expected = (tuple(token.piece for token in side[:_AROUND]) for side in (block.actual, block.expected))
        yield StageComparison("model", Outcome.DIFFERS, actual, expected)
    if explained.add_special:
        around = [encoder.piece(id) for id in (*trace.prefix, *trace.suffix)]
        outcome = Outcome.SAME if own != theirs or explained.ids == list(ids) else Outcome.DIFFERS
        others = [reference.piece(id) for id in _around(list(ids), theirs)]
        yield StageComparison("special tokens", outcome, tuple(around), tuple(others))


def _around(ids: list[int], plain: list[int]) -> list[int]:
    for start in range(len(ids) - len(plain) + 1):
        if ids[start : start + len(plain)] == plain:
            return ids[:start] + ids[start + len(plain) :]
    return ids


def _added_stage(
    explained: Explanation,
    shown: TokenizerStages,
    reference: Tokenizer,
    relevant: tuple[frozenset[int], set[int]] | None,
) -> StageComparison:
    """Compare the added tokens found; one that only one side looks for counts only where it changes the result."""
    if shown.matches is None:
        return StageComparison("added tokens", Outcome.HIDDEN, note=shown.hidden)
    theirs = {(match.start, match.end, match.id) for match in shown.matches}
    ours = [(match.start, match.end, match.id) for match in explained.matches]
    if relevant is None:
        return StageComparison("added tokens", Outcome.SAME)
    added = [index for index, token in enumerate(explained.tokens) if token.source == "added"]
    only_ours = [
        match for match, index in zip(ours, added, strict=True) if match not in theirs and index in relevant[0]
    ]
    only_theirs = sorted(match for match in theirs - set(ours) if match[2] in relevant[1])
    if not only_ours and not only_theirs:
        return StageComparison("added tokens", Outcome.SAME)
    actual = tuple(f"{explained.pieces[id]}" for _, _, id in only_ours[:_AROUND])
    expected = tuple(f"{reference.piece(id)}" for _, _, id in only_theirs[:_AROUND])
    return StageComparison("added tokens", Outcome.DIFFERS, actual, expected)


def _pairs(explained: Explanation, shown: TokenizerStages) -> Iterator[tuple[Stretch, StageStretch]]:
    """Pair the stretches that both sides have."""
    theirs = {(stretch.start, stretch.end): stretch for stretch in shown.stretches or ()}
    for stretch in explained.stretches:
        if (stretch.start, stretch.end) in theirs:
            yield stretch, theirs[stretch.start, stretch.end]


def _normalization_stage(explained: Explanation, family: Family, shown: TokenizerStages) -> StageComparison:
    if shown.stretches is None:
        return StageComparison("normalization", Outcome.HIDDEN, note=shown.hidden)
    if shown.matches is None:
        compared: Iterable[tuple[str, str]] = [(_joined(explained), shown.stretches[0].normalized)]
    else:
        compared = ((_normalized(ours), theirs.normalized) for ours, theirs in _pairs(explained, shown))
    for ours, theirs in compared:
        actual, expected = _comparable(ours, theirs, family, whole=shown.matches is None)
        if actual != expected:
            excerpts = _excerpts(actual, expected)
            return StageComparison("normalization", Outcome.DIFFERS, (excerpts[0],), (excerpts[1],))
    return StageComparison("normalization", Outcome.SAME)


def _normalized(stretch: Stretch) -> str:
    return stretch.trace.rewriting.result.decode("utf-8", "surrogateescape")


def _joined(explained: Explanation) -> str:
    return "".join(
        explained.pieces[fragment.id] if isinstance(fragment, Match) else _normalized(fragment)
        for fragment in explained.trace.fragments
    )


def _comparable(ours: str, theirs: str, family: Family, *, whole: bool) -> tuple[str, str]:
    """Write spaces alike, and leave out those that one side handles in a later stage."""
    actual = family.significant_text(unescape_spaces(ours), whole=whole)
    expected = family.significant_text(unescape_spaces(theirs), whole=whole)
    if not whole and actual.startswith(" ") != expected.startswith(" "):
        return actual.removeprefix(" "), expected.removeprefix(" ")
    return actual, expected


def _excerpts(actual: str, expected: str) -> tuple[str, str]:
    """Return a few characters of each side from just before their first difference on."""
    same = common_length(actual, expected)
    start = max(0, same - _NEAR)
    return actual[start : same + _AROUND], expected[start : same + _AROUND]


def _pre_token_stage(explained: Explanation, shown: TokenizerStages) -> Iterator[StageComparison]:
    if not any(stretch.trace.pre_tokens for stretch in explained.stretches):
        return
    if shown.stretches is None:
        yield StageComparison("pre-tokens", Outcome.HIDDEN, note=shown.hidden)
        return
    for ours, theirs in _pairs(explained, shown):
        if theirs.pre_tokens is None:
            yield StageComparison("pre-tokens", Outcome.HIDDEN, note="it has no pre-tokenizer")
            return
        data = ours.trace.rewriting.result
        actual = [_plain(data[token.start : token.end]) for token in ours.trace.pre_tokens]
        expected = [_plain(token) for token in theirs.pre_tokens]
        if actual != expected:
            same = common_length(actual, expected)
            start = max(0, same - 1)
            near = slice(start, same + _NEAR + 1)
            yield StageComparison("pre-tokens", Outcome.DIFFERS, tuple(actual[near]), tuple(expected[near]))
            return
    yield StageComparison("pre-tokens", Outcome.SAME)


def _plain(pre_token: bytes) -> str:
    return unescape_spaces(pre_token.decode("utf-8", "surrogateescape"))


def common_length(actual: Sequence[str], expected: Sequence[str]) -> int:
    """Return how many items, or characters, the two have in common at their beginnings."""
    pairs = enumerate(zip(actual, expected, strict=False))
    return next((index for index, (left, right) in pairs if left != right), min(len(actual), len(expected)))
