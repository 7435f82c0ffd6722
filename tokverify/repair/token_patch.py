"""TokenPatch: a new text or type for a token, and the changes that consist of patches.

Sentences quote tokens in visible form, so a renderer must not escape these quotes again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TypeVar

from tokverify.engine.families import find_family
from tokverify.engine.normalizer import unescape_spaces
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.repair.change import TokenizerChange
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.wording import list_ranges, quote
from tokverify.texts.token_text import is_padding

_Value = TypeVar("_Value")
_SHOWN_RANGES = 4
_LEAST_REVERSED = 4
"""Of fewer tokens, some were exchanged."""
_TAGS = "tags"

KINDS: Mapping[str, Callable[[str], object]] = {
    # A single ▁ is an ordinary piece.
    "runs of spaces": lambda text: len(text) > 1 and set(unescape_spaces(text)) == {" "},
    "runs of tabs": lambda text: set(text) == {"\t"},
    "runs of newlines": lambda text: set(text) == {"\n"},
    "bytes": BYTE_PIECE.fullmatch,
    _TAGS: re.compile(r"<.+>|\[.+\]", re.DOTALL).fullmatch,
}
"""The kinds of tokens that people have a name for, by their texts; the first that matches counts."""

RUNS = frozenset({"runs of spaces", "runs of tabs", "runs of newlines"})


@dataclass(frozen=True, slots=True)
class TokenPatch:
    """The new text and type of a token; None keeps the old one."""

    text: str | None = None
    type: int | None = None


Patches = Mapping[int, TokenPatch]
"""Patches by the ids of their tokens."""


def types_of(spec: TokenizerSpec) -> Sequence[int]:
    """Return one type for each token: NORMAL for those without a type, as in a file that contradicts itself."""
    types, count = spec.types or (), len(spec.tokens)
    if len(types) == count:
        return types
    return [*types[:count], *[TokenType.NORMAL.value] * (count - len(types))]


def without_padding(ids: Iterable[int], spec: TokenizerSpec) -> list[int]:
    """Return the ids of tokens that are no padding; a model that reads types may match unused ones, as unigram does."""
    types, may_match = types_of(spec), depends_on_types(spec)
    unused = () if may_match else (TokenType.UNUSED,)
    return [id for id in ids if not is_padding(spec.tokens[id], types[id], spec.model) and types[id] not in unused]


def depends_on_types(spec: TokenizerSpec) -> bool:
    """Whether types decide more than which tokens are added tokens."""
    family = find_family(spec.model)
    return family is not None and family.reads_types


def kind_of(text: str) -> str:
    """Return the kind of a token, or an empty string if it has none."""
    return next((name for name, is_kind in KINDS.items() if is_kind(text)), "")


def name_tokens(ids: Collection[int], spec: TokenizerSpec) -> str:
    """Name a single token by its text, several tokens by their ids."""
    if len(ids) > 1:
        return f"{len(ids):,} tokens (ids {list_ranges(ids, _SHOWN_RANGES)})"
    id = next(iter(ids))
    return f"token {id} {quote(spec.tokens[id]) if id < len(spec.tokens) else '(new)'}"


def name_tokens_and_kinds(ids: Collection[int], spec: TokenizerSpec) -> str:
    """Name tokens, and if there are several and each has a kind, also their kinds."""
    names = name_tokens(ids, spec)
    kinds = {kind_of(spec.tokens[id]) for id in ids}
    if len(ids) == 1 or "" in kinds:
        return names
    shown = [kind for kind in KINDS if kind in kinds]
    if _TAGS in kinds:
        # The word alone does not say which of a file's markers are meant.
        example = next(spec.tokens[id] for id in sorted(ids) if kind_of(spec.tokens[id]) == _TAGS)
        shown[shown.index(_TAGS)] = f"tags such as {quote(example)}"
    return f"{names.removesuffix(')')}, {', '.join(shown)})"


def describe_distance(sources: Mapping[int, int]) -> str:
    """Say how far nearly all ids are off, if it is the same number, or that they are in reverse order; else empty.

    Args:
        sources: Where each token is now, by its right id.
    """
    if len(sources) >= _LEAST_REVERSED and len(set(map(sum, sources.items()))) == 1:
        return "they are in reverse order"
    distances = Counter(id - source for id, source in sources.items())
    distance, count = max(distances.items(), key=itemgetter(1), default=(0, 0))
    if not sources or count < NEARLY_ALL * len(sources):
        return ""
    return f"{count:,} of the ids are {abs(distance):,} too {'low' if distance > 0 else 'high'}"


def with_distance(sentence: str, sources: Mapping[int, int]) -> str:
    """Add to a sentence what `describe_distance` says."""
    distance = describe_distance(sources)
    return f"{sentence} ({distance})" if distance else sentence


def patch_tokens(patches: Patches, kind: str, sentence: str, cost: float) -> TokenizerChange:
    """Return the change that applies patches; those of tokens that another change has removed have no effect."""
    return TokenizerChange(kind=kind, sentence=sentence, cost=cost, transform=lambda spec: _apply(spec, patches))


def _apply(spec: TokenizerSpec, patches: Patches) -> TokenizerSpec:
    texts = {id: patch.text for id, patch in patches.items() if patch.text is not None}
    types = {id: patch.type for id, patch in patches.items() if patch.type is not None}
    return replace(
        spec,
        tokens=_replace_items(spec.tokens, texts) if texts else spec.tokens,
        types=_replace_items(types_of(spec), types) if types else spec.types,
    )


def _replace_items(values: Sequence[_Value], changes: Mapping[int, _Value]) -> list[_Value]:
    changed = list(values)
    for index, value in changes.items():
        if index < len(changed):
            changed[index] = value
    return changed


def set_type(spec: TokenizerSpec, patches: Patches, type: TokenType, cost: float) -> TokenizerChange:
    """Return the change that applies patches, all of which set the same type."""
    return patch_tokens(patches, "types", describe_type(spec, patches, type), cost)


def group_by_type(patches: Patches) -> dict[TokenType, dict[int, TokenPatch]]:
    """Return patches by the type that they set, in the order in which the types come first."""
    groups: dict[TokenType, dict[int, TokenPatch]] = {}
    for id, patch in patches.items():
        groups.setdefault(TokenType(patch.type or 0), {})[id] = patch
    return groups


def set_types(spec: TokenizerSpec, patches: Patches, cost: float) -> list[TokenizerChange]:
    """Return a change for each type that patches set."""
    return [set_type(spec, group, type, cost) for type, group in group_by_type(patches).items()]


def describe_type(spec: TokenizerSpec, ids: Collection[int], type: TokenType) -> str:
    """Describe the change that sets a type."""
    return f"setting the type of {name_tokens_and_kinds(ids, spec)} to {type.name}"
