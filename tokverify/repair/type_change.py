"""Generate changes to the types of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tokverify.compare.marker_type import find_marker_types
from tokverify.compare.opened import Opened
from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.engine.piece_index import index_pieces
from tokverify.engine.special_text import is_converted_control
from tokverify.repair import cost
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.token_patch import (
    RUNS,
    Patches,
    TokenPatch,
    depends_on_types,
    describe_type,
    group_by_type,
    kind_of,
    patch_tokens,
    set_type,
    set_types,
    types_of,
)
from tokverify.spec import MATCHED_TYPES, SPECIAL_TYPES, TokenizerSpec, TokenType, ids_of_type, to_types
from tokverify.texts.unmade_token import lost_merges

_CONTEXTS = 3
"""Ordinary tokens do not appear in the ids as often as in a text that contains them in this many contexts."""
_RUN_BEGINNINGS = frozenset({" ", "▁", "\t", "\n"})


def types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set types as in the reference; if it declares none, only of tokens that failing texts contain but ids lack."""
    if evidence.spec.types is None:
        yield from _all_types(evidence)
    spec, declared = evidence.spec, _differing_types(evidence)
    patches = _observed_types(evidence) if declared is None else declared
    groups = group_by_type(patches)
    for type, group in groups.items():
        yield from _group_changes(spec, type, group, with_similar=declared is None)
    yield from _plain(evidence)
    yield from _bytes(evidence)
    yield from _set_at_once(spec, groups)


def _set_at_once(spec: TokenizerSpec, groups: Mapping[TokenType, Patches]) -> Iterator[TokenizerChange]:
    """Yield one change for all groups; nothing for a single one."""
    if len(groups) > 1:
        parts = [describe_type(spec, group, type) for type, group in groups.items()]
        yield patch_tokens(_merge(groups.values()), "types", " and ".join(parts), cost.SEVERAL_TYPES)


def declared_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Set all types that have another effect in the reference."""
    if evidence.spec.types is None:
        yield from _all_types(evidence)
    else:
        yield from set_types(evidence.spec, _declared_differences(evidence) or {}, cost.TYPES)


def _declared_differences(evidence: Evidence) -> dict[int, TokenPatch] | None:
    """Return patches for all types that differ, if the reference declares types as a GGUF file does.

    Unlike other references, these also declare which tokens are bytes or unused, which matters for decoding.
    """
    reference = evidence.facts.gguf_spec
    if reference is None or reference.types is None:
        return _differing_types(evidence)
    unknown = evidence.facts.special_ids.get("unk", -1)
    expected = converted_types(evidence.spec, reference.types, evidence.facts)
    pairs = enumerate(zip(types_of(evidence.spec), expected, strict=False))
    differing = {id: pair for id, pair in pairs if pair[0] != pair[1]}
    # Converters write either of the two for `<unk>`, so this alone is no fault.
    if differing.keys() == {unknown} and SPECIAL_TYPES.issuperset(differing[unknown]):
        return {}
    return {id: TokenPatch(_text_for(evidence, id, TokenType(new)), int(new)) for id, (_, new) in differing.items()}


def _group_changes(
    spec: TokenizerSpec, type: TokenType, group: Patches, *, with_similar: bool
) -> Iterator[TokenizerChange]:
    """Set a type for all tokens of a group, and for those of each kind."""
    variants = [(group, cost.TYPES)]
    variants += [(part, cost.TYPES_OF_A_KIND) for part in _by_kind(spec, group)]
    for patches, base in variants:
        if with_similar:
            yield set_type(spec, _add_similar_runs(spec, patches), type, base + cost.SIMILAR_RUNS)
        yield set_type(spec, patches, type, base)


def _all_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Copy all types from the reference: a file without types also lacks those that no case shows."""
    declared = (evidence.facts.spec.types if evidence.facts.spec else None) or ()
    patches: dict[int, TokenPatch] = {}
    for id, type in enumerate(converted_types(evidence.spec, declared, evidence.facts)):
        if type != TokenType.NORMAL:
            patches[id] = TokenPatch(_text_for(evidence, id, type), type)
    if patches:
        counts = Counter(TokenType(patch.type or 0).name for patch in patches.values())
        shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        sentence = f"setting all types as in the reference ({shown}, the others NORMAL)"
        yield patch_tokens(patches, "types", sentence, cost.ALL_TYPES)


def _add_similar_runs(spec: TokenizerSpec, patches: Patches) -> Patches:
    """Add the other runs of spaces of the same type if one of them is patched; likewise for tabs and newlines."""
    types = types_of(spec)
    patch_of_run: dict[tuple[str, int], TokenPatch] = {}
    for id, patch in patches.items():
        kind = kind_of(spec.tokens[id])
        if kind in RUNS:
            patch_of_run[kind, types[id]] = patch
    if not patch_of_run:
        return patches
    similar: dict[int, TokenPatch] = {}
    for id, text in enumerate(spec.tokens):
        if text[:1] in _RUN_BEGINNINGS:
            run_patch = patch_of_run.get((kind_of(text), types[id]))
            if run_patch:
                similar[id] = run_patch
    return similar | dict(patches)


def _plain(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Make tokens NORMAL that look ordinary but are matched before the model runs; in a unigram vocabulary all of them.

    Tokens that the reference matches, too, are left as they are.
    """
    spec = evidence.spec
    family = find_family(spec.model)
    trims_spaces = family is not None and "remove_extra_whitespaces" in family.flags
    matched = ids_of_type(types_of(spec), TokenType.USER_DEFINED)
    ordinary = [id for id in matched if not kind_of(spec.tokens[id])]
    for ids in (matched if trims_spaces else [], ordinary if evidence.facts.spec is None else []):
        if ids and not (trims_spaces and _have_type(evidence, ids, TokenType.USER_DEFINED)):
            patches = {id: TokenPatch(type=TokenType.NORMAL) for id in ids}
            yield set_type(spec, patches, TokenType.NORMAL, cost.CONVENTIONAL_TYPES)


def _have_type(evidence: Evidence, ids: Iterable[int], type: TokenType) -> bool:
    """Whether tokens have a type in the reference."""
    reference = evidence.facts.spec
    types = types_of(reference) if reference else ()
    return all(id < len(types) and types[id] == type for id in ids)


def _bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Make tokens BYTE whose texts look like bytes, and all others NORMAL, if the model depends on it."""
    spec = evidence.spec
    if evidence.facts.spec is not None or not depends_on_types(spec):
        return
    groups: dict[TokenType, dict[int, TokenPatch]] = {TokenType.BYTE: {}, TokenType.NORMAL: {}}
    for id, (text, type) in enumerate(zip(spec.tokens, types_of(spec), strict=False)):
        is_byte = kind_of(text) == "bytes"
        if is_byte != (type == TokenType.BYTE):
            right = TokenType.BYTE if is_byte else TokenType.NORMAL
            groups[right][id] = TokenPatch(type=right)
    found = {type: group for type, group in groups.items() if group}
    for type, group in found.items():
        yield set_type(spec, group, type, cost.CONVENTIONAL_TYPES)
    yield from _set_at_once(spec, found)


def _by_kind(spec: TokenizerSpec, patches: Patches) -> Iterator[Patches]:
    """Yield proper subsets: the tokens of each kind, all runs, and all tokens that have a kind."""
    by_kind: dict[str, dict[int, TokenPatch]] = {}
    for id, patch in patches.items():
        kind = kind_of(spec.tokens[id])
        if kind:
            by_kind.setdefault(kind, {})[id] = patch
    runs = [subset for kind, subset in by_kind.items() if kind in RUNS]
    for subset in (*by_kind.values(), _merge(runs), _merge(by_kind.values())):
        if subset and len(subset) < len(patches):
            yield subset


def _merge(subsets: Iterable[Patches]) -> Patches:
    merged: dict[int, TokenPatch] = {}
    for subset in subsets:
        merged.update(subset)
    return merged


def _differing_types(evidence: Evidence) -> dict[int, TokenPatch] | None:
    """Return patches for tokens whose type has a different effect than in the reference; None if it declares none."""
    spec = evidence.spec
    listed = _listed_types(evidence)
    if listed is None:
        return None
    declared = converted_types(spec, listed, evidence.facts)
    patches: dict[int, TokenPatch] = {}
    for id, (current, type) in enumerate(zip(types_of(spec), declared, strict=False)):
        if current == type:
            continue
        is_right = type_effect(current, spec) == type_effect(type, spec) or _may_be_control(evidence, id, type)
        if not is_right and not (current in MATCHED_TYPES and id in evidence.facts.contradicted_tokens):
            patches[id] = TokenPatch(_text_for(evidence, id, type), type)
    return patches | _left_out_types(evidence)


def _left_out_types(evidence: Evidence) -> dict[int, TokenPatch]:
    """Return patches for ordinary tokens that are added ones by the files beside the reference.

    Converters type other added tokens as either of two, and these files need not say which.
    """
    spec, extended = evidence.spec, evidence.facts.extended_spec
    if extended is None:
        return {}
    types, added = types_of(spec), types_of(extended)
    return {
        id: TokenPatch(type=added[id])
        for id in range(evidence.facts.listed_size, min(len(extended.tokens), len(spec.tokens)))
        if types[id] == TokenType.NORMAL and added[id] in MATCHED_TYPES and spec.tokens[id] == extended.tokens[id]
    }


def _may_be_control(evidence: Evidence, id: int, type: TokenType) -> bool:
    """Whether a tag that the reference always matches may still be meant as a control token, as it is on our side.

    A reference that never parses control tokens has no type for tokens that are matched on request. As a user-defined
    token, the tag would also be matched in what the users of a model write.
    """
    spec = evidence.spec
    is_control = types_of(spec)[id] == TokenType.CONTROL and kind_of(spec.tokens[id]) == "tags"
    return is_control and type == TokenType.USER_DEFINED and not evidence.facts.parses_special


def converted_types(
    spec: TokenizerSpec, types: Iterable[int], facts: Opened, file: TokenizerSpec | None = None
) -> list[TokenType]:
    """Return the types of a reference, but CONTROL for the tokens to which llama.cpp's converter gives that on purpose.

    As user-defined tokens, they would also be matched in what the users of a model write, who could forge them. A file
    that types most of them as the reference does was not made by that converter, and is left so. Of a tokenizer that is
    no tokenizer.json, such as a sentencepiece model, the converter takes the types as they are, except of tokens that a
    tokenizer_config.json adds, too: a file made with one has control tokens among those that the model matches.

    Args:
        spec: Whose texts the tokens have.
        types: The types that the reference declares for them.
        facts: What is known about the reference.
        file: The file, if `spec` is not.
    """
    if facts.is_gguf:
        return to_types(types)
    converted = to_types(types)[: len(spec.tokens)]
    matched = ids_of_type(converted, TokenType.USER_DEFINED)
    marked = [id for id in matched if is_converted_control(spec.tokens[id])]
    known = (file or spec).types or ()
    own = Counter(known[id] for id in marked if id < len(known))
    is_model = facts.spec is not None and facts.document is None
    if not marked or own[TokenType.USER_DEFINED] > own[TokenType.CONTROL] or (is_model and not own[TokenType.CONTROL]):
        return converted
    # The converter excepts some of Gemma 4's, and those that a tokenizer_config.json adds need not look special.
    families = {text: type for _, text, type in find_marker_types(index_pieces(spec.tokens))}
    for id in matched if is_model else marked:
        text = spec.tokens[id]
        type = TokenType.CONTROL if is_converted_control(text) else TokenType.USER_DEFINED
        converted[id] = families.get(text, type)
    return converted


def _listed_types(evidence: Evidence) -> list[TokenType] | None:
    facts, spec = evidence.facts, evidence.spec
    if facts.gguf_spec is not None and facts.gguf_spec.types is not None:
        return to_types(facts.gguf_spec.types)
    is_read_alike = facts.spec is not None and (depends_on_types(spec) or facts.spec.model == spec.model)
    if facts.added_tokens is not None and not is_read_alike:
        added = {
            id: TokenType.CONTROL if token.special else TokenType.USER_DEFINED
            for id, token in facts.added_tokens.items()
        }
        return [added.get(id, TokenType.NORMAL) for id in range(facts.size)]
    if facts.spec is not None and facts.spec.types is not None:
        return to_types(facts.spec.types)
    if facts.types is not None and facts.added_tokens is None and not facts.parses_special:
        # No ids show which tokens it takes for control tokens. Of RWKV's others, the type is not known.
        pairs = zip(to_types(types_of(spec)), to_types(facts.types), strict=False)
        return [own if type is TokenType.UNDEFINED else type for own, type in pairs]
    return None


def _text_for(evidence: Evidence, id: int, type: TokenType) -> str | None:
    """Return the text that a token of this type needs if it is not stored that way; matched tokens have real spaces."""
    text = evidence.spec.tokens[id]
    family = find_family(evidence.spec.model)
    is_escaped = family is not None and family.alphabet is Alphabet.ESCAPED
    if not is_escaped or type not in {TokenType.USER_DEFINED, TokenType.NORMAL}:
        return None
    other = unescape_spaces(text) if type is TokenType.USER_DEFINED else escape_spaces(text)
    reference = evidence.facts.spec
    is_confirmed = reference is not None and id < len(reference.tokens) and reference.tokens[id] == other
    return other if other != text and is_confirmed else None


def type_effect(type: int, spec: TokenizerSpec) -> str:
    """Name the effect of a type when a text is encoded, or when its ids are decoded: UNDEFINED represents nothing."""
    if type in SPECIAL_TYPES:
        return "special"
    if type == TokenType.USER_DEFINED:
        return "user-defined"
    if type == TokenType.BYTE and depends_on_types(spec):
        return "byte"
    if type == TokenType.UNDEFINED:
        return "undefined"
    return "plain"


def _observed_types(evidence: Evidence) -> dict[int, TokenPatch]:
    """Return patches for tokens that failing texts contain but their ids lack, and for those wrongly matched.

    Of the former, only tokens are included that look special, or that the reference matches wherever a text contains
    them: matching any word that the merges miss would explain its case, regardless of the real reason. So would
    matching a token that lost its own merge.
    """
    tokens, current = evidence.spec.tokens, types_of(evidence.spec)
    patches: dict[int, TokenPatch] = {}
    lost = lost_merges(evidence.spec) if evidence.missing else frozenset[int]()
    for id in evidence.missing:
        if not 0 <= id < len(current) or current[id] in {TokenType.UNKNOWN, TokenType.USER_DEFINED}:
            continue
        kind, text = kind_of(tokens[id]), unescape_spaces(tokens[id])
        if (kind and text in evidence.text) or (_is_always_matched(evidence, id, text) and id not in lost):
            is_control = kind in {"tags", ""} and id not in evidence.missing_unparsed
            is_control = is_control or is_converted_control(tokens[id])
            type = TokenType.CONTROL if is_control else TokenType.USER_DEFINED
            if current[id] != type:
                patches[id] = TokenPatch(type=type)
    for id in evidence.surplus:
        if current[id] in MATCHED_TYPES:
            patches[id] = TokenPatch(type=TokenType.NORMAL)
    return patches


def _is_always_matched(evidence: Evidence, id: int, text: str) -> bool:
    """Whether the reference matches a token wherever a text contains it, in several contexts."""
    found = (target for target in evidence.targets if target.text.count(text) >= _CONTEXTS and len(text) > 1)
    return any(target.expected.count(id) == target.text.count(text) for target in found)
