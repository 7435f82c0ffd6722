"""Generate changes to which tokens are matched in texts where GGUF cannot express them.

llama.cpp overrides the types of some tokens by their texts. And a reference that never parses control tokens has no
type for a token that is matched only on request, so its vocabulary types chat markers as user-defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.deviation import Deviation
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.token_patch import types_of
from tokverify.spec import TokenType
from tokverify.text.wording import list_alternatives, quote

if TYPE_CHECKING:
    from tokverify.repair.evidence import Evidence
    from tokverify.repair.facts import Facts

    Matching = bool | None
    """Whether a token is special, which means matched only with `parse_special`; None if it is never matched."""

_SHOWN = 4
_SPECIAL = frozenset({TokenType.CONTROL.value, TokenType.UNKNOWN.value})
_SPECIAL_ATTRIBUTES = (Attribute.CONTROL | Attribute.UNKNOWN).value


def matching(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Ignore llama.cpp's overrides of types; match what a reference matches that never parses control tokens."""
    if evidence.encoder is None:
        return
    spec, attributes = evidence.spec, evidence.encoder.settings.attributes
    reference = _reference_matching(evidence.facts, len(attributes))
    overridden: dict[int, Matching] = {}
    unparsed: dict[int, Matching] = {}
    for id, (type, attribute) in enumerate(zip(types_of(spec), attributes, strict=False)):
        declared, effective = _matching_of_type(type), _matching_of_attribute(attribute)
        wanted = declared if reference is None else reference[id]
        if declared != effective and declared == wanted:
            overridden[id] = declared
        elif effective and wanted is False and not evidence.facts.parses_special:
            unparsed[id] = False
    yield from _changes(evidence, overridden, unparsed)


def _changes(
    evidence: Evidence, overridden: Mapping[int, Matching], unparsed: Mapping[int, Matching]
) -> Iterator[TokenizerChange]:
    """Yield the change of each kind; if there are both, first the two together, because texts often contain both."""
    changes: list[TokenizerChange] = []
    if overridden:
        sentence = f"ignoring llama.cpp's override of the type of {_name(evidence, overridden)}"
        changes.append(_change("override", sentence, overridden))
    if unparsed:
        names = _name(evidence, unparsed)
        sentence = f"matching {names} even where control tokens are not parsed, as {evidence.facts.name} does"
        changes.append(_change("unparsed", sentence, unparsed))
    if len(changes) > 1:
        yield replace(changes[0].then(changes[1]), cost=cost.MATCHING)
    yield from changes


def _change(kind: str, sentence: str, specials: Mapping[int, Matching]) -> TokenizerChange:
    return TokenizerChange(kind=kind, sentence=sentence, cost=cost.MATCHING, deviation=Deviation(specials=specials))


def _name(evidence: Evidence, ids: Mapping[int, Matching]) -> str:
    """Name tokens by their texts, of many the first ones, with what the file declares."""
    texts = [quote(evidence.spec.tokens[id]) for id in ids]
    if len(texts) > _SHOWN:
        texts = [*texts[:_SHOWN], f"{len(texts) - _SHOWN} more"]
    names = f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]
    declared = {TokenType(types_of(evidence.spec)[id]).name for id in ids}
    return f"{names} (declared {list_alternatives(sorted(declared))})"


def _reference_matching(facts: Facts, size: int) -> Sequence[Matching] | None:
    """Return which tokens the reference matches; None if it does not say."""
    if facts.added_tokens is not None:
        specials = {id: token.special for id, token in facts.added_tokens.items()}
        return [specials.get(id) for id in range(size)]
    if facts.spec is None or facts.spec.types is None:
        return None
    known = list(map(_matching_of_type, facts.spec.types))
    return [*known[:size], *[None] * (size - len(known))]


def _matching_of_type(type: int) -> Matching:
    if type in _SPECIAL:
        return True
    return False if type == TokenType.USER_DEFINED else None


def _matching_of_attribute(attribute: int) -> Matching:
    if attribute & _SPECIAL_ATTRIBUTES:
        return True
    return False if attribute & Attribute.USER_DEFINED.value else None
