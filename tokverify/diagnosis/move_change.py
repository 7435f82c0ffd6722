"""Generate the change that puts tokens in the reference's order, together with their types and scores.

A vocabulary of another program may have its special tokens elsewhere, which moves all others by more than a shift.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from tokverify.diagnosis import cost
from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.token_patch import name_tokens, types_of

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import Evidence
    from tokverify.spec import TokenizerSpec

_Value = TypeVar("_Value")
_LEAST = 8
"""Of fewer tokens, the texts alone were probably exchanged."""


def moves(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Move tokens to their ids in the reference, if those that differ are the same ones in another order."""
    sources = _find_sources(*_both_sides(evidence))
    if len(sources) < _LEAST or _have_same_values(evidence.spec, sources):
        return
    yield TokenizerChange(
        kind="shift",
        sentence=f"moving {name_tokens(sources, evidence.spec)} to their ids in the reference, with types and scores",
        cost=cost.MOVED_TOKENS,
        transform=lambda spec: _move(spec, sources),
    )


def _both_sides(evidence: Evidence) -> tuple[Sequence[object], Sequence[object]]:
    """Return what identifies our tokens and the reference's: their texts or, if it declares none, their bytes."""
    reference, expected_bytes = evidence.facts.spec, evidence.facts.token_bytes
    if reference is not None:
        return evidence.spec.tokens, reference.tokens
    if evidence.encoder is None or not expected_bytes:
        return (), ()
    return list(map(evidence.encoder.token_bytes, range(len(evidence.spec.tokens)))), expected_bytes


def _find_sources(ours: Sequence[object], theirs: Sequence[object]) -> dict[int, int]:
    """Return by id where each token that differs is now; nothing if they are not the same ones."""
    differing = [id for id, (left, right) in enumerate(zip(ours, theirs, strict=False)) if left != right]
    if Counter(ours[id] for id in differing) != Counter(theirs[id] for id in differing):
        return {}
    places: defaultdict[object, set[int]] = defaultdict(set)
    for id in differing:
        places[ours[id]].add(id)
    sources = {id: min(places[theirs[id]]) for id in differing if len(places[theirs[id]]) == 1}
    _add_ambiguous(sources, {id: places[theirs[id]] for id in differing if id not in sources})
    return dict(sorted(sources.items()))


def _add_ambiguous(sources: dict[int, int], places: Mapping[int, set[int]]) -> None:
    """Add the sources of tokens that share their bytes with others, such as digits with byte tokens.

    Each is the one that is as far away as that of the token before or after, if there is one.

    Args:
        sources: The sources of the other tokens.
        places: Where each of these may be now, by id; tokens with the same bytes share a set.
    """
    ids = list(places)
    for ordered, neighbor in ((ids, -1), (ids[::-1], 1)):
        for id in ordered:
            near = sources.get(id + neighbor, -1) - neighbor
            if id not in sources and near in places[id]:
                sources[id] = near
                places[id].remove(near)
    for id in ids:
        if id not in sources:
            sources[id] = min(places[id])
            places[id].remove(sources[id])


def _have_same_values(spec: TokenizerSpec, sources: Mapping[int, int]) -> bool:
    """Whether types and scores stay the same, so that rewriting the texts is all that there is to do."""
    moved = _move(spec, sources)
    return list(moved.types or ()) == list(types_of(spec)) and list(moved.scores or ()) == list(spec.scores or ())


def _move(spec: TokenizerSpec, sources: Mapping[int, int]) -> TokenizerSpec:
    scores = None if spec.scores is None else _reorder(spec.scores, sources)
    return replace(spec, tokens=_reorder(spec.tokens, sources), types=_reorder(types_of(spec), sources), scores=scores)


def _reorder(values: Sequence[_Value], sources: Mapping[int, int]) -> list[_Value]:
    return [values[sources.get(id, id)] for id in range(len(values))]
