"""Compare the tokens of two tokenizers, and what is declared for each of them: types, scores and merges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from tokverify.compare.diff.parts.declared import Declared
from tokverify.engine.joined_strings import find_differing
from tokverify.report.diff import PartChange
from tokverify.report.vocabulary_difference import VocabularyDifference
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.visible import visible
from tokverify.tokenizer import Tokenizer, pieces_of

_Value = TypeVar("_Value")


def compare_tokens(old: Tokenizer, new: Tokenizer, vocabulary: VocabularyDifference) -> Iterator[PartChange]:
    """Yield the pieces that were added, removed, or moved to another id, given the ids at which the two differ."""
    differing = {each.id for each in vocabulary.pieces if each.actual != each.expected}
    if not differing:
        return
    before, after = _index(pieces_of(old)), _index(pieces_of(new))
    for piece, id in before.items():
        if id not in differing:
            continue
        if after.get(piece) in differing:
            yield PartChange("moved", piece, f"id {id}", f"id {after[piece]}")
        else:
            yield PartChange("removed", piece, f"id {id}", None)
    for piece, id in after.items():
        if id in differing and before.get(piece) not in differing:
            yield PartChange("added", piece, None, f"id {id}")


def _index(pieces: Sequence[str]) -> dict[str, int]:
    return {piece: id for id, piece in enumerate(pieces) if piece}


def compare_types(old: Declared, new: Declared) -> Iterator[PartChange]:
    """Yield the tokens whose declared type changed."""
    yield from _compare_per_token(old, new, lambda spec: spec.types, _format_type)


def compare_scores(old: Declared, new: Declared) -> Iterator[PartChange]:
    """Yield the tokens whose score changed."""
    yield from _compare_per_token(old, new, lambda spec: spec.scores, "{:g}".format)


def _compare_per_token(
    old: Declared,
    new: Declared,
    values: Callable[[TokenizerSpec], Sequence[_Value] | None],
    format: Callable[[_Value], str],
) -> Iterator[PartChange]:
    """Compare a value that each token has; if one side lacks all of these values, that is a single change."""
    before, after = values(old.spec), values(new.spec)
    if not before or not after:
        if before or after:
            counts = (f"of {len(each):,} tokens" if each else None for each in (before, after))
            yield PartChange("changed", "all", *counts)
        return
    for token in _list_affected(old, new, before, after):
        was, became = before[old.by_token[token]], after[new.by_token[token]]
        if was != became:
            yield PartChange("changed", token, format(was), format(became))


def _list_affected(old: Declared, new: Declared, before: Sequence[object], after: Sequence[object]) -> list[str]:
    """List the tokens, by their old ids, of all ids at which the token or its value differs.

    Only these can have changed: any other token is the last one of its text in both, with the same value.
    """
    ids = {*find_differing(old.spec.tokens, new.spec.tokens), *find_differing(before, after)}
    tokens = {spec.tokens[id] for spec in (old.spec, new.spec) for id in ids if id < len(spec.tokens)}
    if not tokens:
        return []
    return sorted(tokens & old.by_token.keys() & new.by_token.keys(), key=old.by_token.__getitem__)


def _format_type(type: int) -> str:
    return TokenType(type).name if type in TokenType.__members__.values() else str(type)


def compare_merges(old: Declared, new: Declared) -> Iterator[PartChange]:
    """Yield the merges that were added, removed or reordered."""
    before, after = old.spec.merges or (), new.spec.merges or ()
    if before != after:
        yield from compare_ranks(before, after)


def compare_ranks(old: Iterable[str], new: Iterable[str]) -> Iterator[PartChange]:
    """Yield the merges that were added or removed, and neighbors whose order was reversed."""
    before = {merge: rank for rank, merge in enumerate(old)}
    after = {merge: rank for rank, merge in enumerate(new)}
    yield from (
        PartChange("removed", merge, f"rank {rank}", None) for merge, rank in before.items() if merge not in after
    )
    yield from (
        PartChange("added", merge, None, f"rank {rank}") for merge, rank in after.items() if merge not in before
    )
    kept = [merge for merge in before if merge in after]
    for first, second in pairwise(kept):
        if after[first] > after[second]:
            name = visible(first, mark_spaces=False)
            yield PartChange("reordered", second, f"after {name}", f"before {name}")
