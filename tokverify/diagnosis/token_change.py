"""Changes to single tokens: their types, how they are written, and tokens that are others in the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from tokverify.diagnosis.change import Change
from tokverify.family import BY_TYPE_ALGORITHMS, FAMILIES
from tokverify.normalizer import escape_spaces, unescape_spaces
from tokverify.spec import TokenType
from tokverify.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tokverify.diagnosis.evidence import Evidence
    from tokverify.spec import TokenizerSpec

_Value = TypeVar("_Value")
_SPECIAL = frozenset([TokenType.CONTROL, TokenType.UNKNOWN])
_MATCHED = _SPECIAL | {TokenType.USER_DEFINED}
_SHOWN_RANGES = 4
_KINDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("runs of spaces", lambda text: set(unescape_spaces(text)) == {" "}),
    ("runs of tabs", lambda text: set(text) == {"\t"}),
    ("runs of newlines", lambda text: set(text) == {"\n"}),
    ("tags", lambda text: text[:1] in "<[" and text[-1:] in ">]"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What a token should be; None leaves its text or type as it is."""

    text: str | None = None
    type: int | None = None


def types(evidence: Evidence) -> Iterator[Change]:
    """Type tokens as the reference does, and without its word, those that failing texts hold and ids lack."""
    wanted = _told_types(evidence)
    if wanted is None:
        wanted = _shown_types(evidence)
    groups: dict[int, dict[int, Entry]] = {}
    for id, entry in wanted.items():
        groups.setdefault(entry.type if entry.type is not None else -1, {})[id] = entry
    for type, entries in groups.items():
        yield _typing(evidence, entries, TokenType(type), cost=3)
        yield from _by_kind(evidence, entries, TokenType(type))
    yield from _plain(evidence)
    if len(groups) > 1:
        parts = [_typed(evidence.spec, entries, TokenType(type)) for type, entries in groups.items()]
        yield _change("types", " and ".join(parts), 3.4, wanted)


def _plain(evidence: Evidence) -> Iterator[Change]:
    """Type what a unigram vocabulary cuts out NORMAL: llama.cpp puts a space after each such token."""
    ids = [id for id, type in enumerate(_types(evidence.spec)) if type == TokenType.USER_DEFINED]
    if ids and evidence.spec.model == "t5":
        yield _typing(evidence, {id: Entry(None, TokenType.NORMAL) for id in ids}, TokenType.NORMAL, cost=3.3)


def _by_kind(evidence: Evidence, entries: Mapping[int, Entry], type: TokenType) -> Iterator[Change]:
    """Type only the tokens of one kind: the kind is what a person would look for."""
    for name, is_kind in _KINDS:
        some = {id: entry for id, entry in entries.items() if is_kind(evidence.spec.tokens[id])}
        if some and len(some) < len(entries):
            yield _typing(evidence, some, type, cost=3.1, name=name)


def _typing(
    evidence: Evidence, entries: Mapping[int, Entry], type: TokenType, *, cost: float, name: str = ""
) -> Change:
    return _change("types", _typed(evidence.spec, entries, type, name), cost, entries)


def _typed(spec: TokenizerSpec, entries: Mapping[int, Entry], type: TokenType, name: str = "") -> str:
    told = f", {name or _kinds([spec.tokens[id] for id in entries])}".removesuffix(", ")
    return f"typing {_tokens(entries, spec, told)} {type.name}"


def _kinds(texts: Sequence[str]) -> str:
    """Name the kinds of tokens, if each text is of one that has a name."""
    found = [name for name, is_kind in _KINDS if any(map(is_kind, texts))]
    return ", ".join(found) if all(any(is_kind(text) for _, is_kind in _KINDS) for text in texts) else ""


def _tokens(ids: Collection[int], spec: TokenizerSpec, told: str = "") -> str:
    if len(ids) == 1:
        id = next(iter(ids))
        return f"token {id} {visible(spec.tokens[id]) if id < len(spec.tokens) else '(new)'}{told and f' ({told[2:]})'}"
    return f"{len(ids):,} tokens (ids {id_ranges(ids)}{told})"


def id_ranges(ids: Iterable[int]) -> str:
    """Write ids as ranges, such as `138-167, 200`; of many ranges the first few."""
    ranges: list[list[int]] = []
    for id in sorted(ids):
        if ranges and id == ranges[-1][1] + 1:
            ranges[-1][1] = id
        else:
            ranges.append([id, id])
    shown = [f"{first}-{last}" if last > first else str(first) for first, last in ranges[:_SHOWN_RANGES]]
    return ", ".join([*shown, "..."] if len(ranges) > _SHOWN_RANGES else shown)


def _told_types(evidence: Evidence) -> dict[int, Entry] | None:
    """Return the tokens whose type has another effect than in the reference; None if it does not tell."""
    facts, spec = evidence.facts, evidence.spec
    current = _types(spec)
    if facts.added_tokens is not None and (facts.spec is None or not _is_by_type(spec)):
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


def _types(spec: TokenizerSpec) -> Sequence[int]:
    return spec.types or [TokenType.NORMAL.value] * len(spec.tokens)


def _is_by_type(spec: TokenizerSpec) -> bool:
    family = FAMILIES.get(spec.model)
    return family is not None and family.algorithm in BY_TYPE_ALGORITHMS


def _effect(type: int, spec: TokenizerSpec) -> str:
    """Return a word for what a type does when a text is encoded."""
    if type in _SPECIAL:
        return "special"
    if type == TokenType.USER_DEFINED:
        return "user-defined"
    if _is_by_type(spec):
        return "byte" if type == TokenType.BYTE else "undefined" if type == TokenType.UNDEFINED else "plain"
    return "plain"


def _shown_types(evidence: Evidence) -> dict[int, Entry]:
    """Return the tokens that failing texts hold but their ids lack, and those cut out that should not be."""
    current = _types(evidence.spec)
    wanted: dict[int, Entry] = {}
    for id in evidence.missing:
        if id < len(current) and current[id] not in _MATCHED:
            text = unescape_spaces(evidence.spec.tokens[id])
            if len(text) > 1 and text in evidence.text:
                wanted[id] = Entry(None, TokenType.CONTROL if text[:1] in "<[" else TokenType.USER_DEFINED)
    for id in evidence.surplus:
        if current[id] in _MATCHED:
            wanted[id] = Entry(None, TokenType.NORMAL)
    return wanted


def texts(evidence: Evidence) -> Iterator[Change]:
    """Write tokens as the reference does, by the way in which they differ."""
    told = evidence.facts.spec
    if told is None:
        return
    groups: dict[str, dict[int, Entry]] = {}
    for id, (now, wanted) in enumerate(zip(evidence.spec.tokens, told.tokens, strict=False)):
        if now != wanted:
            groups.setdefault(_way(now, wanted), {})[id] = Entry(wanted)
    for way, entries in groups.items():
        yield _change("tokens", f"writing {_tokens(entries, evidence.spec)} {way}", 3.2, entries)
    if len(groups) > 1:
        entries = {id: entry for group in groups.values() for id, entry in group.items()}
        yield _change("tokens", f"writing {_tokens(entries, evidence.spec)} as the reference does", 3.8, entries)


def _way(now: str, wanted: str) -> str:
    if escape_spaces(now) == wanted:
        return "with ▁ for a space"
    if now == escape_spaces(wanted):
        return "with a space for ▁"
    if now.replace("▁", "") == wanted.replace("▁", ""):
        return "with, or without, ▁ where the reference does"
    return "as the reference does"


def added(evidence: Evidence) -> Iterator[Change]:
    """Add the tokens that the reference has beyond the last one here, and those it has with another text and type."""
    told, spec = evidence.facts.spec, evidence.spec
    if told is None:
        return
    now, size = len(spec.tokens), len(told.tokens)
    told_types = _types(told)
    if size > now:
        ids = range(now, size)
        yield Change(
            kind="added",
            sentence=f"adding {_tokens(ids, spec)} of the reference",
            cost=3.5,
            transform=lambda spec: _extended(spec, told),
        )
    entries = {
        id: Entry(wanted, told_types[id])
        for id, (text, wanted) in enumerate(zip(spec.tokens, told.tokens, strict=False))
        if text != wanted and _effect(_types(spec)[id], spec) != _effect(told_types[id], spec)
    }
    if entries:
        sentence = f"taking text and type of {_tokens(entries, spec)} from the reference"
        yield _change("added", sentence, 3.5, entries)


def _extended(spec: TokenizerSpec, told: TokenizerSpec) -> TokenizerSpec:
    start = len(spec.tokens)
    count = len(told.tokens) - start
    scores = list(told.scores)[start:] if told.scores is not None else [0.0] * count
    return replace(
        spec,
        tokens=[*spec.tokens, *told.tokens[start:]],
        types=[*_types(spec), *_types(told)[start:]],
        scores=None if spec.scores is None else [*spec.scores, *scores],
    )


def _change(kind: str, sentence: str, cost: float, entries: Mapping[int, Entry]) -> Change:
    return Change(kind=kind, sentence=sentence, cost=cost, transform=lambda spec: _with_entries(spec, entries))


def _with_entries(spec: TokenizerSpec, entries: Mapping[int, Entry]) -> TokenizerSpec:
    texts = {id: entry.text for id, entry in entries.items() if entry.text is not None}
    types = {id: entry.type for id, entry in entries.items() if entry.type is not None}
    return replace(
        spec,
        tokens=_replaced(spec.tokens, texts) if texts else spec.tokens,
        types=_replaced(_types(spec), types) if types else spec.types,
    )


def _replaced(values: Sequence[_Value], changes: Mapping[int, _Value]) -> list[_Value]:
    made = list(values)
    for id, value in changes.items():
        made[id] = value
    return made
