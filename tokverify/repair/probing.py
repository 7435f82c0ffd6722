"""Probing: the types of a reference's tokens, found out by encoding texts, if the reference does not declare them."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.errors import GoneError, TokverifyError
from tokverify.repair.probe import ProbedTokens, probe_tokens
from tokverify.spec import TokenizerSpec, TokenType
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
_MATCHED = frozenset({TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.UNKNOWN})


class Probing:
    """Probes one reference, each time that our side has other tokens, merges or scores."""

    def __init__(self, reference: Tokenizer | None) -> None:
        self._reference = reference
        self._results: dict[tuple[object, ...], ProbedTokens | None] = {}

    def types(self, spec: TokenizerSpec) -> Sequence[TokenType] | None:
        """Return the type of each of our tokens in the reference; our own type where ids do not tell.

        Args:
            spec: What our side declares. Apart from the types, it must be roughly right.
        """
        probed = self._probe(spec)
        if probed is None or sum(type in _MATCHED for type in probed.types) > _MOST_MATCHED * len(probed.types):
            return None
        ours = [TokenType(type) for type in spec.types or [TokenType.NORMAL.value] * len(spec.tokens)]
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
        if found in _MATCHED:
            # The two are matched alike, and only a text that nothing matches tells which of them it is.
            return own if {own, found} <= {TokenType.CONTROL, TokenType.UNKNOWN} else found
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
        try:
            return probe_tokens(reference, spec)
        except GoneError:
            raise
        except TokverifyError:
            return None
