"""Generate changes to the types that probing a reference reveals, if it declares none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.token_patch import TokenPatch, kind_of, set_type, types_of
from tokverify.repair.type_change import converted_types, type_effect
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.token_text import is_converted_control

if TYPE_CHECKING:
    from tokverify.repair.evidence import Evidence
    from tokverify.repair.facts import Facts


def probed_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set the types that probing the reference reveals, of all tokens rather than of those in failing texts."""
    patches = patches_by_probing(evidence.facts, evidence.spec)
    changes = _set_types(evidence.spec, {id: patch.type or 0 for id, patch in patches.items()})
    if len(changes) > 1:
        yield replace(reduce(TokenizerChange.then, changes), kind="types", cost=cost.SEVERAL_TYPES)
    yield from changes
    yield from _undecided_types(evidence)


def extended_by_probing(change: TokenizerChange, spec: TokenizerSpec, facts: Facts) -> TokenizerChange | None:
    """Extend a change of types to all tokens of the same kinds, with the types that probing the reference reveals.

    A diagnosis sees only the tokens in failing texts, and guesses their types.

    Returns:
        None if probing reveals nothing more.
    """
    before, after = types_of(spec), types_of(change.transform(spec))
    changed = {id: type for id, (old, type) in enumerate(zip(before, after, strict=True)) if old != type}
    alike = {(kind_of(spec.tokens[id]), before[id]) for id in changed}
    probed = {id: patch.type for id, patch in patches_by_probing(facts, spec).items()}
    revealed = {id: type for id, type in probed.items() if type and (kind_of(spec.tokens[id]), before[id]) in alike}
    if revealed.items() <= changed.items():
        return None
    changes = _set_types(spec, dict(sorted((changed | revealed).items())))
    return replace(reduce(TokenizerChange.then, changes), kind="types")


def _set_types(spec: TokenizerSpec, types: Mapping[int, int]) -> list[TokenizerChange]:
    """Return a change for each type, which sets it for the tokens that should have it."""
    groups: dict[int, dict[int, TokenPatch]] = {}
    for id, type in types.items():
        groups.setdefault(type, {})[id] = TokenPatch(type=type)
    return [set_type(spec, group, TokenType(type), cost.TYPES) for type, group in groups.items()]


def _undecided_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Make tokens USER_DEFINED that a probe cannot tell from ordinary ones, but that failing texts should contain."""
    spec, facts = evidence.spec, evidence.facts
    if _declares_types(facts):
        return
    candidates, types = facts.probing.undecided(spec).intersection(evidence.missing), types_of(spec)
    plain = (id for id in sorted(candidates) if id < len(types) and types[id] == TokenType.NORMAL)
    ids = [id for id in plain if not is_converted_control(spec.tokens[id])]
    if ids:
        patches = {id: TokenPatch(type=TokenType.USER_DEFINED.value) for id in ids}
        yield set_type(spec, patches, TokenType.USER_DEFINED, cost.SEVERAL_TYPES)


def patches_by_probing(facts: Facts, spec: TokenizerSpec) -> dict[int, TokenPatch]:
    """Return patches for the tokens that the reference matches under other conditions, if it declares no types."""
    return {id: TokenPatch(type=type) for id, type, is_same in _probed(facts, spec) if not is_same}


def confirmed_by_probing(facts: Facts, spec: TokenizerSpec) -> frozenset[int]:
    """Return the ids of the tokens that have a type with the same effect in the reference, if it declares no types."""
    same = frozenset(id for id, _, is_same in _probed(facts, spec) if is_same)
    return same - facts.probing.undecided(spec) if same else same


def _probed(facts: Facts, spec: TokenizerSpec) -> Iterator[tuple[int, int, bool]]:
    """Yield each id with the type that probing reveals, and whether ours has the same effect."""
    if _declares_types(facts):
        return
    pairs = zip(types_of(spec), converted_types(spec, facts.probing.types(spec) or (), facts), strict=False)
    for id, (ours, theirs) in enumerate(pairs):
        yield id, theirs, type_effect(ours, spec) == type_effect(theirs, spec)


def _declares_types(facts: Facts) -> bool:
    return facts.spec is not None or facts.added_tokens is not None
