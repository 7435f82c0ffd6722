"""Generate the change that puts tokens in the reference's order, together with their types and scores.

A vocabulary of another program may have its special tokens elsewhere, which moves all others by more than a shift.
"""

from __future__ import annotations

from collections import defaultdict, deque
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
    places: defaultdict[object, deque[int]] = defaultdict(deque)
    for id in differing:
        places[ours[id]].append(id)
    sources: dict[int, int] = {}
    for id in differing:
        if not places.get(theirs[id]):
            return {}
        sources[id] = places[theirs[id]].popleft()
    return sources


def _have_same_values(spec: TokenizerSpec, sources: Mapping[int, int]) -> bool:
    """Whether types and scores stay the same, so that rewriting the texts is all that there is to do."""
    moved = _move(spec, sources)
    return list(moved.types or ()) == list(types_of(spec)) and list(moved.scores or ()) == list(spec.scores or ())


def _move(spec: TokenizerSpec, sources: Mapping[int, int]) -> TokenizerSpec:
    scores = None if spec.scores is None else _reorder(spec.scores, sources)
    return replace(spec, tokens=_reorder(spec.tokens, sources), types=_reorder(types_of(spec), sources), scores=scores)


def _reorder(values: Sequence[_Value], sources: Mapping[int, int]) -> list[_Value]:
    return [values[sources.get(id, id)] for id in range(len(values))]
