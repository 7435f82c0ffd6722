"""Inspection: what a person wants to know of a tokenizer at a glance, as data."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING

from tokverify.engine.families import find_family
from tokverify.engine.family import Ranking
from tokverify.engine.fingerprint import fingerprint
from tokverify.engine.override import net_overrides
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.engine.family import Settings
    from tokverify.engine.override import Override
    from tokverify.spec import TokenizerSpec

_FLAGS = (
    "add_bos",
    "add_eos",
    "add_sep",
    "add_space_prefix",
    "remove_extra_whitespaces",
    "lowercase",
    "strip_accents",
)
_IMPLIED = ("escape_whitespaces", "clean_spaces", "ignore_merges")
_TAG = re.compile(r"</?[^<>\s]+>|\[[^\[\]\s]+\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive ids of tokens of one type and one kind.

    `repeated` is the character that all pieces are a run of, such as a space, or None.
    """

    first: int
    last: int
    first_piece: str
    last_piece: str
    repeated: str | None = None

    @property
    def count(self) -> int:
        """The number of tokens."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class TypeSummary:
    """The tokens of one declared type; `untold` where the file declares no types."""

    name: str
    count: int
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """The token of a role: whether the file names it, or why it is that one all the same."""

    role: str
    id: int
    piece: str
    declared: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag as declared (None: not declared) and in effect (None: not known), with the reason for a difference."""

    name: str
    declared: bool | None
    effective: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """A tokenizer at a glance.

    `algorithm`, `pre_effective` and `fingerprint` are None, and `refusal` says why, where the tokenizer cannot be
    loaded. `pre_effective` is empty for a model that uses no pre-tokenizer. `eog` are the tokens that end a generation,
    as (id, piece). `overrides` are what is taken otherwise than declared; `sources` what the file says of where it
    comes from, by key without `general.`.
    """

    model: str
    tokens: int
    types: tuple[TypeSummary, ...]
    algorithm: str | None = None
    pre_declared: str | None = None
    pre_effective: str | None = None
    merges: int | None = None
    scores: tuple[float, float] | None = None
    charsmap_bytes: int | None = None
    added_tokens: int = 0
    special: tuple[SpecialToken, ...] = ()
    eog: tuple[tuple[int, str], ...] = ()
    flags: tuple[Flag, ...] = ()
    overrides: tuple[Override, ...] = ()
    fingerprint: str | None = None
    chat_template_length: int | None = None
    has_huggingface_json: bool = False
    sources: Mapping[str, str] = field(default_factory=dict)
    refusal: str | None = None

    @property
    def in_llama_cpp(self) -> bool:
        """Whether llama.cpp knows the model; False for those that are tokverify's own."""
        family = find_family(self.model)
        return family is None or family.in_llama_cpp


def inspect(spec: TokenizerSpec, refusal: str | None = None) -> Inspection:
    """Look at a tokenizer; one that cannot be loaded, as `refusal` may say already, is told as it is declared."""
    declared = Inspection(
        model=spec.model,
        tokens=len(spec.tokens),
        types=tuple(_types(spec)),
        pre_declared=spec.pre,
        merges=None if spec.merges is None else len(spec.merges),
        scores=_range(spec.scores or ()),
        charsmap_bytes=None if spec.charsmap is None else len(spec.charsmap),
        special=tuple(
            SpecialToken(role, id, "".join(spec.tokens[id : id + 1]), declared=True)
            for role, id in spec.special_ids.items()
        ),
        flags=tuple(Flag(name, getattr(spec, name), None) for name in _FLAGS),
        chat_template_length=None if spec.chat_template is None else len(spec.chat_template),
        has_huggingface_json=spec.huggingface_json is not None,
        sources=dict(spec.general),
    )
    if refusal is not None:
        return replace(declared, refusal=refusal)
    try:
        settings = resolve(spec)
    except (BrokenFileError, UnsupportedError) as error:
        return replace(declared, refusal=str(error))
    return _with_settings(declared, spec, settings)


def _range(scores: Sequence[float]) -> tuple[float, float] | None:
    # Adding zero turns whole numbers into floats; a score that is no number has no place in a range.
    known = [score + 0.0 for score in scores if not isnan(score)]
    return (min(known), max(known)) if known else None


def _with_settings(declared: Inspection, spec: TokenizerSpec, settings: Settings) -> Inspection:
    reasons = {override.setting: override.reason for override in settings.overrides}
    return replace(
        declared,
        algorithm=settings.algorithm,
        pre_effective=settings.pre if settings.family.ranking is Ranking.MERGE_RANK else "",
        added_tokens=len(settings.added_tokens),
        special=tuple(
            SpecialToken(role, id, settings.pieces[id], role in spec.special_ids, reasons.get(f"{role} id", ""))
            for role, id in settings.special_ids.items()
        ),
        eog=tuple((id, settings.pieces[id]) for id in sorted(settings.eog_ids)),
        flags=tuple(_flags(spec, settings, reasons)),
        overrides=net_overrides(settings.overrides),
        fingerprint=fingerprint(spec, settings),
    )


def _flags(spec: TokenizerSpec, settings: Settings, reasons: Mapping[str, str]) -> Iterator[Flag]:
    for name in _FLAGS:
        yield Flag(name, getattr(spec, name), getattr(settings, name), reasons.get(name, ""))
    for name in _IMPLIED:
        yield Flag(name, None, getattr(settings, name), "GGUF has no key for it")


def _types(spec: TokenizerSpec) -> Iterator[TypeSummary]:
    stretches: dict[int, list[tuple[int, int]]] = {}
    start = 0
    for type, group in groupby(_all_types(spec)):
        end = start + sum(1 for _ in group)
        stretches.setdefault(type, []).append((start, end))
        start = end
    for type, found in sorted(stretches.items()):
        runs = tuple(_runs(spec.tokens, found, by_kind=type not in _UNIFORM))
        yield TypeSummary(type_name(type), sum(end - start for start, end in found), runs)


_NO_TYPE = 2**31
"""A type that no file can declare."""

_UNIFORM = frozenset({TokenType.NORMAL.value, TokenType.BYTE.value, TokenType.UNUSED.value, _NO_TYPE})
"""Types with too many tokens, or too much alike, for their runs to be told apart by kind."""

_NAMES = {type.value: type.name for type in TokenType} | {_NO_TYPE: "untold"}


def type_name(type: int) -> str:
    """Return the name of a declared type, or its number if there is none."""
    return _NAMES.get(type, str(type))


def _all_types(spec: TokenizerSpec) -> Sequence[int]:
    """Return a type for every token, however many types a broken file tells."""
    types = spec.types or ()
    return [*types[: len(spec.tokens)], *[_NO_TYPE] * (len(spec.tokens) - len(types))]


def _runs(pieces: Sequence[str], stretches: Sequence[tuple[int, int]], *, by_kind: bool) -> Iterator[Run]:
    for start, end in stretches:
        first = start
        kinds = map(_kind, pieces[start:end]) if by_kind else array("b", bytes(end - start))
        for kind, group in groupby(kinds):
            last = first + sum(1 for _ in group) - 1
            repeated = kind if isinstance(kind, str) and len(kind) == 1 else None
            yield Run(first, last, pieces[first], pieces[last], repeated)
            first = last + 1


def _kind(piece: str) -> str:
    """Tell what a piece is a run of, or that it looks like a tag, or neither."""
    if piece and not piece.strip(piece[0]):
        return piece[0]
    return "tag" if _TAG.fullmatch(piece) else ""
