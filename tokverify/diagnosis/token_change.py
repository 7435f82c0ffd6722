"""Changes to single tokens: their types, how they are written, and tokens that are others in the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.entry import RUNS, Entry, change_to, is_by_type, kind_of, tokens_named, typed, types_of, typing
from tokverify.engine.normalizer import escape_spaces, unescape_spaces
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import Evidence
    from tokverify.spec import TokenizerSpec

_SPECIAL = frozenset([TokenType.CONTROL, TokenType.UNKNOWN])
_MATCHED = _SPECIAL | {TokenType.USER_DEFINED}


def types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Type tokens as the reference does, and without its word, those that failing texts hold and ids lack."""
    if evidence.spec.types is None:
        yield from _all_types(evidence)
    spec, told = evidence.spec, _told_types(evidence)
    wanted = _shown_types(evidence) if told is None else told
    groups: dict[TokenType, dict[int, Entry]] = {}
    for id, entry in wanted.items():
        groups.setdefault(TokenType(entry.type or 0), {})[id] = entry
    for type, entries in groups.items():
        for some, cost in ((entries, 3.0), *((part, 3.1) for part in _by_kind(spec, entries))):
            if told is None:
                yield typing(spec, _with_others(spec, some), type, cost=cost - 0.05)
            yield typing(spec, some, type, cost=cost)
    yield from _plain(evidence)
    yield from _bytes(evidence)
    if len(groups) > 1:
        parts = [typed(spec, entries, type) for type, entries in groups.items()]
        yield change_to(wanted, "types", " and ".join(parts), 3.4)


def _all_types(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Take all types from the reference: where none is declared, those that no text shows are missing as well."""
    told = evidence.facts.spec.types if evidence.facts.spec else None
    entries = {
        id: Entry(_text_for(evidence, id, TokenType(type)), type)
        for id, (_, type) in enumerate(zip(evidence.spec.tokens, told or (), strict=False))
        if type != TokenType.NORMAL
    }
    if entries:
        counts = Counter(TokenType(entry.type or 0).name for entry in entries.values())
        shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        yield change_to(entries, "types", f"typing tokens as the reference does ({shown}, the others NORMAL)", 2.9)


def _with_others(spec: TokenizerSpec, entries: Mapping[int, Entry]) -> Mapping[int, Entry]:
    """Add the other runs of spaces to those that were seen, of the same type; likewise of tabs and newlines."""
    types = types_of(spec)
    like = {(kind, types[id]): entry for id, entry in entries.items() if (kind := kind_of(spec.tokens[id])) in RUNS}
    if not like:
        return entries
    candidates = ((id, text) for id, text in enumerate(spec.tokens) if text[:1] in {" ", "▁", "\t", "\n"})
    return {id: like[key] for id, text in candidates if (key := (kind_of(text), types[id])) in like} | dict(entries)


def _plain(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Type tokens NORMAL that look like ordinary ones and are cut out; of a unigram vocabulary any.

    For the latter this is the way around llama.cpp's own fault, too: to it, what stands on each side of such a token is
    a text of its own, from which it takes extra spaces, and before which it puts one.
    """
    spec = evidence.spec
    ids = [id for id, type in enumerate(types_of(spec)) if type == TokenType.USER_DEFINED]
    looks_plain = [id for id in ids if not kind_of(spec.tokens[id])]
    for chosen in (ids if spec.model == "t5" else [], looks_plain if evidence.facts.spec is None else []):
        if chosen:
            change = typing(spec, {id: Entry(None, TokenType.NORMAL) for id in chosen}, TokenType.NORMAL, cost=3.3)
            is_way_around = spec.model == "t5" and _are_told_to_be(evidence, chosen, TokenType.USER_DEFINED)
            yield _way_around(change, len(chosen)) if is_way_around else change


def _way_around(change: TokenizerChange, count: int) -> TokenizerChange:
    told = f"the reference has {'it' if count == 1 else 'them'} USER_DEFINED, too"
    reason = f"({told}, but llama.cpp drops and adds spaces around such tokens)"
    return replace(change, sentence=f"{change.sentence} {reason}")


def _are_told_to_be(evidence: Evidence, ids: Iterable[int], type: TokenType) -> bool:
    told = evidence.facts.spec
    types = types_of(told) if told else ()
    return all(id < len(types) and types[id] == type for id in ids)


def _bytes(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Type tokens BYTE that are named like bytes, where the model goes by that."""
    spec = evidence.spec
    ids = [id for id, text in enumerate(spec.tokens) if kind_of(text) == "bytes"] if is_by_type(spec) else []
    entries = {id: Entry(None, TokenType.BYTE) for id in ids if types_of(spec)[id] != TokenType.BYTE}
    if entries and evidence.facts.spec is None:
        yield typing(spec, entries, TokenType.BYTE, cost=3.3)


def _by_kind(spec: TokenizerSpec, entries: Mapping[int, Entry]) -> Iterator[dict[int, Entry]]:
    """Yield the tokens of each kind, which a person would look for, and all that are of one."""
    kinds: dict[str, dict[int, Entry]] = {}
    for id, entry in entries.items():
        if kind := kind_of(spec.tokens[id]):
            kinds.setdefault(kind, {})[id] = entry
    runs = [some for kind, some in kinds.items() if kind in RUNS]
    unions = [{id: entry for some in part for id, entry in some.items()} for part in (runs, kinds.values())]
    for some in (*kinds.values(), *unions):
        if some and len(some) < len(entries):
            yield some


def _told_types(evidence: Evidence) -> dict[int, Entry] | None:
    """Return the tokens whose type has another effect than in the reference; None if it does not tell."""
    facts, spec = evidence.facts, evidence.spec
    current = types_of(spec)
    if facts.added_tokens is not None and (facts.spec is None or not is_by_type(spec)):
        wanted = {id: _added_type(token.special) for id, token in facts.added_tokens.items()}
        told = [wanted.get(id, TokenType.NORMAL) for id in range(len(current))]
    elif facts.spec is not None and facts.spec.types is not None:
        told = [TokenType(type) for type in facts.spec.types]
    else:
        return None
    return {
        id: Entry(_text_for(evidence, id, type), type)
        for id, (now, type) in enumerate(zip(current, told, strict=False))
        if _effect(now, spec) != _effect(type, spec)
    }


def _added_type(special: bool) -> TokenType:
    return TokenType.CONTROL if special else TokenType.USER_DEFINED


def _text_for(evidence: Evidence, id: int, type: TokenType) -> str | None:
    """Return how a token of a type must be written, where it is not written so: one that is matched, with spaces."""
    text = evidence.spec.tokens[id]
    if evidence.spec.model not in {"llama", "gemma4", "t5"} or type not in {TokenType.USER_DEFINED, TokenType.NORMAL}:
        return None
    other = unescape_spaces(text) if type is TokenType.USER_DEFINED else escape_spaces(text)
    told = evidence.facts.spec
    is_told = told is not None and id < len(told.tokens) and told.tokens[id] == other
    return other if other != text and is_told else None


def _effect(type: int, spec: TokenizerSpec) -> str:
    """Return a word for what a type does when a text is encoded."""
    if type in _SPECIAL:
        return "special"
    if type == TokenType.USER_DEFINED:
        return "user-defined"
    if is_by_type(spec):
        return "byte" if type == TokenType.BYTE else "undefined" if type == TokenType.UNDEFINED else "plain"
    return "plain"


def _shown_types(evidence: Evidence) -> dict[int, Entry]:
    """Return the tokens that failing texts hold but their ids lack, and those cut out that should not be.

    Of the former only those that look special: any word that merging misses could be had by cutting it out, whatever
    the reason.
    """
    tokens, current = evidence.spec.tokens, types_of(evidence.spec)
    wanted: dict[int, Entry] = {}
    for id in evidence.missing:
        if not 0 <= id < len(current) or current[id] in {TokenType.UNKNOWN, TokenType.USER_DEFINED}:
            continue
        kind = kind_of(tokens[id])
        if kind and unescape_spaces(tokens[id]) in evidence.text:
            is_control = kind == "tags" and id not in evidence.missing_unparsed
            wanted[id] = Entry(None, TokenType.CONTROL if is_control else TokenType.USER_DEFINED)
    for id in evidence.surplus:
        if current[id] in _MATCHED:
            wanted[id] = Entry(None, TokenType.NORMAL)
    return wanted


def texts(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Write tokens as the reference does, by the way in which they differ."""
    told = evidence.facts.spec
    if told is None:
        return
    groups: dict[str, dict[int, Entry]] = {}
    for id, (now, wanted) in enumerate(zip(evidence.spec.tokens, told.tokens, strict=False)):
        if now != wanted:
            groups.setdefault(_way(now, wanted), {})[id] = Entry(wanted)
    for way, entries in groups.items():
        yield change_to(entries, "tokens", f"writing {tokens_named(entries, evidence.spec)} {way}", 3.2)
    if len(groups) > 1:
        entries = {id: entry for group in groups.values() for id, entry in group.items()}
        yield change_to(entries, "tokens", f"writing {tokens_named(entries, evidence.spec)} as the reference does", 3.8)


def _way(now: str, wanted: str) -> str:
    if escape_spaces(now) == wanted:
        return "with ▁ for a space"
    if now == escape_spaces(wanted):
        return "with a space for ▁"
    if now.replace("▁", "") == wanted.replace("▁", ""):
        return "with, or without, ▁ where the reference does"
    return "as the reference does"


def added(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Add the tokens that the reference has beyond the last one here, and those it has with another text and type."""
    told, spec = evidence.facts.spec, evidence.spec
    if told is None:
        return
    now, size = len(spec.tokens), len(told.tokens)
    told_types = types_of(told)
    if size > now:
        ids = range(now, size)
        yield TokenizerChange(
            kind="added",
            sentence=f"adding {tokens_named(ids, spec)} of the reference",
            cost=3.5,
            transform=lambda spec: _extended(spec, told),
        )
    entries = {
        id: Entry(wanted, told_types[id])
        for id, (text, wanted) in enumerate(zip(spec.tokens, told.tokens, strict=False))
        if text != wanted and _effect(types_of(spec)[id], spec) != _effect(told_types[id], spec)
    }
    if entries:
        sentence = f"taking text and type of {tokens_named(entries, spec)} from the reference"
        yield change_to(entries, "added", sentence, 3.5)


def _extended(spec: TokenizerSpec, told: TokenizerSpec) -> TokenizerSpec:
    start = len(spec.tokens)
    count = len(told.tokens) - start
    scores = list(told.scores)[start:] if told.scores is not None else [0.0] * count
    return replace(
        spec,
        tokens=[*spec.tokens, *told.tokens[start:]],
        types=[*types_of(spec), *types_of(told)[start:]],
        scores=None if spec.scores is None else [*spec.scores, *scores],
    )
