"""Entries: what single tokens should be, and the changes that make them so.

Sentences quote tokens made visible; whoever shows a sentence leaves the escapes alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from tokverify.diagnosis.change import TokenizerChange
from tokverify.engine.family import BY_TYPE_ALGORITHMS, FAMILIES
from tokverify.engine.models.plamo2 import BYTE_PIECE
from tokverify.engine.normalizer import unescape_spaces
from tokverify.spec import TokenType
from tokverify.text.wording import quoted

if TYPE_CHECKING:
    from tokverify.spec import TokenizerSpec

_Value = TypeVar("_Value")
_SHOWN_RANGES = 4


KINDS: Mapping[str, Callable[[str], object]] = {
    # A single ▁ is a piece like others.
    "runs of spaces": lambda text: len(text) > 1 and set(unescape_spaces(text)) == {" "},
    "runs of tabs": lambda text: set(text) == {"\t"},
    "runs of newlines": lambda text: set(text) == {"\n"},
    "bytes": BYTE_PIECE.fullmatch,
    "tags": re.compile(r"<.+>|\[.+\]", re.DOTALL).fullmatch,
}
"""The kinds of tokens that a person would name so, by what their texts look like; the first that fits counts."""

RUNS = frozenset({"runs of spaces", "runs of tabs", "runs of newlines"})


@dataclass(frozen=True, slots=True)
class Entry:
    """What a token should be; None leaves its text or type as it is."""

    text: str | None = None
    type: int | None = None


def types_of(spec: TokenizerSpec) -> Sequence[int]:
    """Return the types of all tokens, which are NORMAL where the file tells none."""
    return spec.types or [TokenType.NORMAL.value] * len(spec.tokens)


def is_by_type(spec: TokenizerSpec) -> bool:
    """Whether more depends on the types than which tokens are added ones."""
    family = FAMILIES.get(spec.model)
    return family is not None and family.algorithm in BY_TYPE_ALGORITHMS


def kind_of(text: str) -> str:
    """Name the kind of a token; empty where it has no name."""
    return next((name for name, is_kind in KINDS.items() if is_kind(text)), "")


def tokens_named(ids: Collection[int], spec: TokenizerSpec) -> str:
    """Name one token by its text, and several by their ids."""
    if len(ids) > 1:
        return f"{len(ids):,} tokens (ids {_id_ranges(ids)})"
    id = next(iter(ids))
    return f"token {id} {quoted(spec.tokens[id]) if id < len(spec.tokens) else '(new)'}"


def tokens_with_kinds(ids: Collection[int], spec: TokenizerSpec) -> str:
    """Name tokens, and their kinds too if each of several has one."""
    named = tokens_named(ids, spec)
    kinds = {kind_of(spec.tokens[id]) for id in ids}
    if len(ids) == 1 or "" in kinds:
        return named
    return f"{named.removesuffix(')')}, {', '.join(kind for kind in KINDS if kind in kinds)})"


def _id_ranges(ids: Iterable[int]) -> str:
    """Write ids as ranges, such as `138-167, 200`; of many ranges the first few."""
    ranges: list[list[int]] = []
    for id in sorted(ids):
        if ranges and id == ranges[-1][1] + 1:
            ranges[-1][1] = id
        else:
            ranges.append([id, id])
    shown = [f"{first}-{last}" if last > first else str(first) for first, last in ranges[:_SHOWN_RANGES]]
    return ", ".join([*shown, "..."] if len(ranges) > _SHOWN_RANGES else shown)


def change_to(entries: Mapping[int, Entry], kind: str, sentence: str, cost: float) -> TokenizerChange:
    """Return the change that makes tokens what they should be."""
    return TokenizerChange(kind=kind, sentence=sentence, cost=cost, transform=lambda spec: _with_entries(spec, entries))


def _with_entries(spec: TokenizerSpec, entries: Mapping[int, Entry]) -> TokenizerSpec:
    texts = {id: entry.text for id, entry in entries.items() if entry.text is not None}
    types = {id: entry.type for id, entry in entries.items() if entry.type is not None}
    return replace(
        spec,
        tokens=_replaced(spec.tokens, texts) if texts else spec.tokens,
        types=_replaced(types_of(spec), types) if types else spec.types,
    )


def _replaced(values: Sequence[_Value], changes: Mapping[int, _Value]) -> list[_Value]:
    made = list(values)
    for id, value in changes.items():
        made[id] = value
    return made


def typing(spec: TokenizerSpec, entries: Mapping[int, Entry], type: TokenType, cost: float) -> TokenizerChange:
    """Return the change that gives tokens a type."""
    return change_to(entries, "types", typed(spec, entries, type), cost)


def typed(spec: TokenizerSpec, ids: Collection[int], type: TokenType) -> str:
    """Say that tokens are given a type."""
    return f"typing {tokens_with_kinds(ids, spec)} {type.name}"
