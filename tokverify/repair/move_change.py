"""Generate the change that puts tokens in the reference's order, together with their types and scores.

A vocabulary of another program may have its special tokens elsewhere, which moves all others by more than a shift.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TypeVar

from tokverify.engine.joined_strings import find_changed
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.shift_change import ask_places
from tokverify.repair.token_patch import TokenPatch, name_tokens, patch_tokens, types_of, with_distance
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import list_tokens, plural
from tokverify.tokenizer import why_hidden

_Value = TypeVar("_Value")
_LEAST = 8
"""Of fewer tokens, the texts alone were probably exchanged."""
_MOST_BY_IDS = 64
"""If there are more, another fault makes them look exchanged."""
_ALIKE = 3
"""So many tokens that are off by the same number of ids may belong to a block that is."""
_MOST_IN_BLOCK = 10_000
"""A longer block is not looked for: the reference is asked for three times as many tokens."""
_AGREEMENT = 0.9
"""The share of the tokens that differ for which there must be the same ones elsewhere."""


def moves(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Move tokens to their ids in the reference, if those that differ are the same ones in another order."""
    sources = _find_sources(*_both_sides(evidence))
    if len(sources) < _LEAST:
        return
    roles = _find_moved_roles(evidence, sources)
    if not roles and _have_same_values(evidence.spec, sources):
        return
    properties = "types, scores and roles" if roles else "types and scores"
    moving = f"moving {name_tokens(sources, evidence.spec)} to their ids in the reference, with {properties}"
    yield TokenizerChange(
        kind="shift",
        sentence=with_distance(moving, sources),
        cost=cost.MOVED_TOKENS,
        transform=lambda spec: _move(spec, sources, roles),
    )


def _find_moved_roles(evidence: Evidence, sources: Mapping[int, int]) -> dict[str, int]:
    """Return the roles that go with their tokens, with the ids of these in the reference.

    Other roles have the right numbers already: a file may have them from a configuration. If the reference does not
    say, the type tells: what should begin or end a text is a control token.
    """
    types, named = types_of(evidence.spec), evidence.facts.special_ids
    targets = {source: id for id, source in sources.items()}
    moved = {role: (id, targets[id]) for role, id in evidence.spec.valid_special_ids.items() if id in targets}
    return {
        role: target
        for role, (id, target) in moved.items()
        if (named[role] == target if role in named else types[id] == TokenType.CONTROL)
    }


def _both_sides(evidence: Evidence) -> tuple[Sequence[object], Sequence[object]]:
    """Return what identifies our tokens and the reference's: their texts or, if it declares none, their bytes."""
    if evidence.facts.spec is not None:
        return evidence.spec.tokens, evidence.facts.spec.tokens
    expected_bytes = evidence.facts.token_bytes
    if evidence.encoder is None or not expected_bytes:
        return (), ()
    return list(map(evidence.encoder.token_bytes, range(len(evidence.spec.tokens)))), expected_bytes


def _find_sources(ours: Sequence[object], theirs: Sequence[object]) -> dict[int, int]:
    """Return by id where each token that differs is now; nothing if too many are not the same ones.

    The few that only one side has take the places that are left.
    """
    differing = find_changed(ours, theirs)
    our_counts, their_counts = Counter(ours[id] for id in differing), Counter(theirs[id] for id in differing)
    common = {key for key, count in their_counts.items() if our_counts[key] == count}
    least = _AGREEMENT if len(ours) == len(theirs) else 1.0
    if sum(theirs[id] in common for id in differing) < least * len(differing):
        return {}
    places: defaultdict[object, set[int]] = defaultdict(set)
    for id in differing:
        places[ours[id] if ours[id] in common else None].add(id)
    choices = {id: places[theirs[id] if theirs[id] in common else None] for id in differing}
    sources = {id: min(choice) for id, choice in choices.items() if len(choice) == 1}
    _add_ambiguous(sources, {id: choice for id, choice in choices.items() if id not in sources})
    return dict(sorted(sources.items()))


def _add_ambiguous(sources: dict[int, int], places: Mapping[int, set[int]]) -> None:
    """Add the sources of tokens that share their bytes with others, such as digits with byte tokens.

    Each is the one that continues those of the tokens before or after, if there is one.

    Args:
        sources: The sources of the other tokens.
        places: Where each of these may be now, by id; tokens with the same bytes share a set.
    """
    ids = list(places)
    for ordered, neighbor in ((ids, -1), (ids[::-1], 1)):
        for id in ordered:
            near = _continue(sources, id, neighbor)
            if id not in sources and near in places[id]:
                sources[id] = near
                places[id].remove(near)
    for id in ids:
        if id not in sources:
            sources[id] = min(places[id])
            places[id].remove(sources[id])


def _continue(sources: Mapping[int, int], id: int, neighbor: int) -> int:
    """Return the source that continues those of the two tokens before (-1) or after (1) an id; -1 if there is none.

    They may be in reverse order.
    """
    nearest, next_one = sources.get(id + neighbor), sources.get(id + 2 * neighbor)
    if nearest is None:
        return -1
    is_reversed = next_one == nearest - neighbor
    return nearest + neighbor if is_reversed else nearest - neighbor


def moves_by_ids(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Move a block of texts, or exchange those of tokens that stand for each other, if a reference shows only ids."""
    spec, expected = evidence.spec, evidence.facts.tokenizer
    if expected is None or not why_hidden(expected):
        return
    block = _find_block(evidence, _find_substitutes(evidence, alone=True))
    if len(block) >= _LEAST:
        # Exchanges of single tokens would repair parts of it.
        yield _move_texts(block, spec)
        return
    tried: list[dict[int, int]] = []
    for alone in (True, False):
        substitutes = _find_substitutes(evidence, alone=alone)
        is_likely = 0 < len(substitutes) <= _MOST_BY_IDS and max(substitutes.values()) < len(spec.tokens)
        if not is_likely or substitutes in tried:
            continue
        tried.append(substitutes)
        cycles = _close(substitutes)
        yield from (_exchange(cycle, spec) for cycle in cycles)
        if len(cycles) > 1:
            yield reduce(TokenizerChange.then, (_exchange(cycle, spec) for cycle in cycles))


def _find_substitutes(evidence: Evidence, *, alone: bool) -> dict[int, int]:
    """Return by id the one that is always expected instead, where texts have as many ids on both sides.

    Args:
        evidence: Has the texts.
        alone: Whether to use only ids with the same neighbors on both sides. Two that differ side by side may be the
            same characters, split elsewhere.
    """
    seen: defaultdict[int, set[int]] = defaultdict(set)
    for target in evidence.targets:
        actual = target.outcome(evidence.encoder) if evidence.encoder else None
        if actual and len(actual) == len(target.expected):
            pairs = list(zip(actual, target.expected, strict=True))
            differs = [False, *(ours != theirs for ours, theirs in pairs), False]
            for (ours, theirs), before, after in zip(pairs, differs, differs[2:], strict=False):
                if not (alone and ours != theirs and (before or after)):
                    seen[ours].add(theirs)
    always = {ours: min(theirs) for ours, theirs in seen.items() if len(theirs) == 1}
    counts = Counter(always.values())
    return {ours: theirs for ours, theirs in always.items() if ours != theirs and counts[theirs] == 1}


def _find_block(evidence: Evidence, substitutes: Mapping[int, int]) -> dict[int, int]:
    """Return by id where each token of a block is now, if several are off by the same number, or in reverse order.

    The reference is asked for those near them, as few of them are in failing texts. The others, such as the inner parts
    of words, continue the tokens before or after them.
    """
    distances = Counter(theirs - ours for ours, theirs in substitutes.items())
    # In reverse order, the sum of both ids is the same.
    sums = Counter(map(sum, substitutes.items()))
    encoder, expected, size = evidence.encoder, evidence.facts.tokenizer, len(evidence.spec.tokens)
    if max((*distances.values(), *sums.values()), default=0) < _ALIKE or encoder is None or expected is None:
        return {}
    ids = {*substitutes, *substitutes.values()}
    first, last = min(ids), max(ids)
    width = last - first + 1
    if width > _MOST_IN_BLOCK:
        return {}
    places = ask_places(range(max(0, first - width), min(size, last + width)), encoder, expected)
    moved = {id for pair in places.items() if pair[0] != pair[1] for id in pair}
    if not moved or max(moved) >= size:
        return {}
    block = range(min(moved), max(moved) + 1)
    sources = {theirs: ours for ours, theirs in places.items() if ours in block}
    if len(sources) < sum(ours in block for ours in places):
        return {}
    free = {*block}.difference(sources.values())
    _add_ambiguous(sources, dict.fromkeys((id for id in block if id not in sources), free))
    return {id: source for id, source in sorted(sources.items()) if id != source}


def _move_texts(sources: Mapping[int, int], spec: TokenizerSpec) -> TokenizerChange:
    sentence = f"moving the texts of {name_tokens(sources, spec)} to their ids in the reference"
    patches = {id: TokenPatch(spec.tokens[source]) for id, source in sources.items()}
    return patch_tokens(patches, "tokens", with_distance(sentence, sources), cost.TEXTS_BY_IDS)


def _close(substitutes: Mapping[int, int]) -> list[list[int]]:
    """Return cycles in which each token gets the text of the one before it; the first one gets that of the last."""
    left = dict(substitutes)
    cycles: list[list[int]] = []
    while left:
        # A token whose own text no failing text contains begins a chain.
        first = next((id for id in left if id not in left.values()), next(iter(left)))
        cycle = [first]
        while (following := left.pop(cycle[-1], first)) != first:
            cycle.append(following)
        cycles.append(cycle)
    return cycles


def _exchange(cycle: Sequence[int], spec: TokenizerSpec) -> TokenizerChange:
    patches = {id: TokenPatch(spec.tokens[before]) for before, id in zip(cycle, [*cycle[1:], cycle[0]], strict=True)}
    sentence = f"swapping back the texts of {plural(len(cycle), 'token')}: {list_tokens(cycle, spec.tokens)}"
    return patch_tokens(patches, "tokens", sentence, cost.TEXTS_BY_IDS)


def _have_same_values(spec: TokenizerSpec, sources: Mapping[int, int]) -> bool:
    """Whether types and scores stay the same, so that rewriting the texts is all that there is to do."""
    moved = _move(spec, sources, {})
    return list(moved.types or ()) == list(types_of(spec)) and list(moved.scores or ()) == list(spec.scores or ())


def _move(spec: TokenizerSpec, sources: Mapping[int, int], roles: Mapping[str, int]) -> TokenizerSpec:
    return replace(
        spec,
        tokens=_reorder(spec.tokens, sources),
        types=_reorder(types_of(spec), sources),
        scores=None if spec.scores is None else _reorder(spec.scores, sources),
        special_ids={**spec.special_ids, **roles},
    )


def _reorder(values: Sequence[_Value], sources: Mapping[int, int]) -> list[_Value]:
    return [values[sources.get(id, id)] for id in range(len(values))]
