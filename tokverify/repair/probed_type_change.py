"""Changes to the types of tokens that a reference does not declare: they are found out by encoding texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from weakref import WeakKeyDictionary

from tokverify.compare.opened import Opened
from tokverify.engine.special_text import is_converted_control
from tokverify.errors import answer_or
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.probe import Observed, ProbedTokens, probe_tokens
from tokverify.repair.token_patch import TokenPatch, kind_of, set_type, set_types, types_of
from tokverify.repair.type_change import converted_types, type_effect
from tokverify.spec import MATCHED_TYPES, SPECIAL_TYPES, TokenizerSpec, TokenType, to_types
from tokverify.texts.unmade_token import merged_ids
from tokverify.tokenizer import Tokenizer

_MOST_PROBES = 6
"""A probe takes thousands of encodings; beyond the limit the last result is used."""
_SETTINGS = (
    "model",
    "pre",
    "charsmap",
    "add_space_prefix",
    "remove_extra_whitespaces",
    "lowercase",
    "strip_accents",
    "nfc",
)
"""What a probe depends on besides the arrays."""
_MOST_MATCHED = 0.5
"""If more of the tokens seem to be matched in texts, the guess is too wrong to tell them from ordinary ones."""


def probed_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set the types that probing the reference reveals, of all tokens rather than of those in failing texts."""
    changes = set_types(evidence.spec, patches_by_probing(evidence.facts, evidence.spec), cost.TYPES)
    if len(changes) > 1:
        yield replace(reduce(TokenizerChange.then, changes), kind="types", cost=cost.SEVERAL_TYPES)
    yield from changes
    yield from _undecided_types(evidence)


def extended_by_probing(change: TokenizerChange, spec: TokenizerSpec, facts: Opened) -> TokenizerChange | None:
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
    patches = {id: TokenPatch(type=type) for id, type in sorted((changed | revealed).items())}
    return replace(reduce(TokenizerChange.then, set_types(spec, patches, cost.TYPES)), kind="types")


def _undecided_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Make tokens USER_DEFINED that a probe cannot tell from ordinary ones, but that failing texts should contain."""
    spec, facts = evidence.spec, evidence.facts
    if _declares_types(facts):
        return
    candidates, types = probing_of(facts).undecided(spec).intersection(evidence.missing), types_of(spec)
    plain = (id for id in sorted(candidates) if id < len(types) and types[id] == TokenType.NORMAL)
    ids = [id for id in plain if not is_converted_control(spec.tokens[id])]
    if ids:
        patches = {id: TokenPatch(type=TokenType.USER_DEFINED.value) for id in ids}
        yield set_type(spec, patches, TokenType.USER_DEFINED, cost.SEVERAL_TYPES)


def patches_by_probing(facts: Opened, spec: TokenizerSpec) -> dict[int, TokenPatch]:
    """Return patches for the tokens that the reference matches under other conditions, if it declares no types."""
    return {id: TokenPatch(type=type) for id, type, is_same in _probed(facts, spec) if not is_same}


def confirmed_by_probing(facts: Opened, spec: TokenizerSpec) -> frozenset[int]:
    """Return the ids of the tokens that have a type with the same effect in the reference, if it declares no types."""
    same = frozenset(id for id, _, is_same in _probed(facts, spec) if is_same)
    return same - probing_of(facts).undecided(spec) if same else same


def _probed(facts: Opened, spec: TokenizerSpec) -> Iterator[tuple[int, int, bool]]:
    """Yield each id with the type that probing reveals, and whether ours has the same effect."""
    if _declares_types(facts):
        return
    pairs = zip(types_of(spec), converted_types(spec, probing_of(facts).types(spec) or (), facts), strict=False)
    for id, (ours, theirs) in enumerate(pairs):
        yield id, theirs, type_effect(ours, spec) == type_effect(theirs, spec)


def _declares_types(facts: Opened) -> bool:
    return facts.spec is not None or facts.added_tokens is not None


def probing_of(reference: Opened) -> Probing:
    """Return what finds out what a reference does not declare; it remembers its answers."""
    return _PROBINGS.setdefault(reference, Probing(reference.tokenizer))


class Probing:
    """Probes one reference, each time that our side has other tokens, merges or scores."""

    def __init__(self, reference: Tokenizer | None) -> None:
        self._reference = reference
        self._observed: Observed | None = None
        self._results: dict[tuple[object, ...], ProbedTokens | None] = {}

    def types(self, spec: TokenizerSpec) -> Sequence[TokenType] | None:
        """Return the type of each of our tokens in the reference; our own type where ids do not tell.

        Args:
            spec: What our side declares. Apart from the types, it must be roughly right.
        """
        probed = self._probe(spec)
        if probed is None or sum(type in MATCHED_TYPES for type in probed.types) > _MOST_MATCHED * len(probed.types):
            return None
        ours = to_types(spec.types or [TokenType.NORMAL] * len(spec.tokens))
        return [
            self._choose(own, TokenType(probed.types[id]), id, probed) if id < len(probed.types) else own
            for id, own in enumerate(ours)
        ]

    def undecided(self, spec: TokenizerSpec) -> frozenset[int]:
        """Return the tokens that may be NORMAL or USER_DEFINED: in the texts of the probe, both have the same ids."""
        probed = self._probe(spec)
        return probed.undecided if probed else frozenset()

    def _choose(self, own: TokenType, found: TokenType, id: int, probed: ProbedTokens) -> TokenType:
        if id in probed.undecided or probed.vocabulary.texts[id] is None:
            return own
        if found in MATCHED_TYPES:
            # The two are matched alike, and only a text that nothing matches tells which of them it is.
            return own if {own, found} <= SPECIAL_TYPES else found
        can_tell = self._reference is not None and self._reference.parses_special
        if own is TokenType.USER_DEFINED or (own is TokenType.CONTROL and can_tell):
            return TokenType.BYTE if id in probed.byte_ids else TokenType.NORMAL
        return own

    def _probe(self, spec: TokenizerSpec) -> ProbedTokens | None:
        arrays = (tuple(values or ()) for values in (spec.tokens, spec.merges, spec.scores))
        key = (*(getattr(spec, name) for name in _SETTINGS), *map(hash, arrays))
        if key not in self._results:
            if self._reference is None:
                return None
            if len(self._results) >= _MOST_PROBES:
                return list(self._results.values())[-1]
            self._results[key] = self._ask(self._reference, spec)
        return self._results[key]

    def _ask(self, reference: Tokenizer, spec: TokenizerSpec) -> ProbedTokens | None:
        self._observed = self._observed or answer_or(None, Observed.of, reference)
        probed = answer_or(None, probe_tokens, self._observed, spec) if self._observed else None
        if probed is None:
            return None
        # To a probe, a token whose merge is missing here, or too late, looks as if the reference matched it.
        among, unmade = merged_ids(spec)
        matched = {id for id in among if id < len(probed.types) and probed.types[id] == TokenType.USER_DEFINED}
        lost = {id for id in unmade if len(spec.tokens[id]) > 1 and (id in probed.undecided or id in matched)}
        # Gemma 4 has runs of spaces, which are matched, among the tokens that merges make.
        late = {id for id in matched - lost if not kind_of(spec.tokens[id])}
        types = [TokenType.NORMAL.value if id in lost else type for id, type in enumerate(probed.types)]
        return replace(probed, types=types, undecided=(probed.undecided - lost) | late)


_PROBINGS: WeakKeyDictionary[Opened, Probing] = WeakKeyDictionary()
