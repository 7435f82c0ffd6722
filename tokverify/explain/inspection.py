"""Inspect a tokenizer: collect an overview of its types, special tokens and settings, and the most tokens of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from itertools import compress, count, islice, pairwise
from math import isnan
from operator import ne

from tokverify.engine.attribute import Attribute
from tokverify.engine.charsmap import Charsmap
from tokverify.engine.families import find_family
from tokverify.engine.family import Family, Ranking, Settings
from tokverify.engine.fingerprint import fingerprint
from tokverify.engine.override import net_overrides
from tokverify.engine.requirement import describe_changes, describe_needs
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.explain.worst_case import find_worst_case
from tokverify.report.inspect import (
    CategorySummary,
    EogToken,
    Flag,
    Inspection,
    OverriddenSetting,
    SpecialToken,
    TokenDetails,
    TokenRun,
    TypeSummary,
)
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.text.sequence import group_values
from tokverify.tokenizer import HexBytes

_FLAGS = (
    "add_bos",
    "add_eos",
    "add_sep",
    "add_space_prefix",
    "remove_extra_whitespaces",
    "lowercase",
    "strip_accents",
    "nfc",
)
_IMPLIED = ("escape_whitespaces", "clean_spaces", "ignore_merges")
_TAG = re.compile(r"</?[^<>\s]+>|\[[^\[\]\s]+\]", re.DOTALL)
_RANGES = re.compile(r"\s*[0-9]*-?[0-9]*\s*(,\s*[0-9]*-?[0-9]*\s*)*")
_RANGE = re.compile("([0-9]{1,10})|([0-9]{1,10})-([0-9]{0,10})")


def inspect(spec: TokenizerSpec, refusal: str | None = None, *, is_gguf: bool = True) -> Inspection:
    """Inspect a tokenizer.

    One that cannot be loaded is described as far as the file declares it; `refusal` is the reason, if already known.
    One that is no GGUF file is encoded by its library.
    """
    family = find_family(spec.model)
    declared = Inspection(
        model=spec.model,
        in_llama_cpp=family is None or family.in_llama_cpp,
        needs=describe_needs(spec) if family is None or family.in_llama_cpp else "",
        tokens=len(spec.tokens),
        types=tuple(_summarize_types(spec)),
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
    # A normalizer that GGUF cannot express, such as NFC, can make several characters of one.
    worst_case = None if spec.left_out else find_worst_case(settings, is_gguf=is_gguf)
    return _add_settings(replace(declared, worst_case=worst_case), spec, settings)


def _range(scores: Sequence[float]) -> tuple[float, float] | None:
    # NaN, which makes the sum NaN, has no place in a range.
    known = [score for score in scores if not isnan(score)] if isnan(sum(scores)) else scores
    return (float(min(known)), float(max(known))) if known else None


def _add_settings(declared: Inspection, spec: TokenizerSpec, settings: Settings) -> Inspection:
    reasons = {override.setting: override.reason for override in settings.overrides}
    return replace(
        declared,
        algorithm=settings.algorithm,
        changes=describe_changes(spec, settings),
        pre_effective=settings.pre if settings.family.ranking is Ranking.MERGE_RANK else "",
        added_tokens=len(settings.added_tokens),
        special=tuple(
            SpecialToken(role, id, settings.pieces[id], role in spec.special_ids, reasons.get(f"{role} id", ""))
            for role, id in settings.special_ids.items()
        ),
        eog=tuple(EogToken(id, settings.pieces[id]) for id in sorted(settings.eog_ids)),
        flags=tuple(_list_flags(spec, settings, reasons)),
        categories=tuple(_summarize_categories(settings)),
        charsmap_entries=None if spec.charsmap is None else Charsmap(spec.charsmap).size,
        overrides=tuple(
            OverriddenSetting(each.setting, each.declared, each.effective, each.reason, sentence=str(each))
            for each in net_overrides(settings.overrides)
        ),
        fingerprint=fingerprint(spec, settings),
    )


def _summarize_categories(settings: Settings) -> Iterator[CategorySummary]:
    """Summarize the categories in the order of their lowest ids; nothing for families without any."""
    if type(settings.family).token_category is Family.token_category:
        return
    categorize = settings.family.token_category
    ids = group_values((categorize(id, piece), id) for id, piece in enumerate(settings.pieces))
    for name, members in ids.items():
        if name:
            yield CategorySummary(name, len(members), members[0], members[-1])


def _list_flags(spec: TokenizerSpec, settings: Settings, reasons: Mapping[str, str]) -> Iterator[Flag]:
    for name in _FLAGS:
        yield Flag(name, getattr(spec, name), getattr(settings, name), reasons.get(name, ""))
    for name in _IMPLIED:
        yield Flag(name, None, getattr(settings, name), "GGUF has no key for it")


def _summarize_types(spec: TokenizerSpec) -> Iterator[TypeSummary]:
    types = _all_types(spec)
    by_type = group_values((types[start], (start, end)) for start, end in _find_stretches(types))
    for type, stretches in sorted(by_type.items()):
        runs = tuple(_split_runs(spec.tokens, stretches, by_kind=type not in _UNIFORM))
        yield TypeSummary(type_name(type), sum(end - start for start, end in stretches), runs)


_NO_TYPE = 2**31
"""A type that no file can declare."""

_UNIFORM = frozenset({TokenType.NORMAL.value, TokenType.BYTE.value, TokenType.UNUSED.value, _NO_TYPE})
"""Types with too many tokens, or too similar ones, to split their runs by kind."""

_NAMES = {type.value: type.name for type in TokenType} | {_NO_TYPE: "undeclared"}


def type_name(type: int) -> str:
    """Return the name of a declared type, or its number if there is none."""
    return _NAMES.get(type, str(type))


def _all_types(spec: TokenizerSpec) -> Sequence[int]:
    """Return one type for every token, however many types a broken file declares."""
    types = spec.types or ()
    return [*types[: len(spec.tokens)], *[_NO_TYPE] * (len(spec.tokens) - len(types))]


def _find_stretches(values: Sequence[object]) -> Iterator[tuple[int, int]]:
    """Yield where each run of equal values starts and ends; without a step in Python for each value."""
    changes = compress(count(1), map(ne, values, islice(values, 1, None)))
    return pairwise([0, *changes, len(values)]) if values else iter(())


def _split_runs(pieces: Sequence[str], stretches: Sequence[tuple[int, int]], *, by_kind: bool) -> Iterator[TokenRun]:
    for start, end in stretches:
        if not by_kind:
            yield TokenRun(start, end - 1, pieces[start], pieces[end - 1])
            continue
        kinds = list(map(_kind, pieces[start:end]))
        for first, after in _find_stretches(kinds):
            repeated = kinds[first] if len(kinds[first]) == 1 else None
            yield TokenRun(start + first, start + after - 1, pieces[start + first], pieces[start + after - 1], repeated)


def _kind(piece: str) -> str:
    """Return the character that a piece repeats, `tag` if it looks like a tag, or an empty string."""
    if piece and not piece.strip(piece[0]):
        return piece[0]
    return "tag" if _TAG.fullmatch(piece) else ""


def find_tokens(spec: TokenizerSpec, selection: str, *, is_loadable: bool = True) -> list[TokenDetails]:
    """Find the tokens that a selection matches; if the file cannot be loaded, as far as it declares them.

    A selection is a list of ids and ranges of ids (`5,107-137,262000-`), or a shell-style pattern for the whole piece
    (`*▁the`). A text that is itself a piece matches only that piece.

    Raises:
        TokverifyError: If nothing matches.
    """
    ids = _find_by_id(selection, len(spec.tokens)) if _RANGES.fullmatch(selection) else _find_by_piece(spec, selection)
    if not ids:
        raise TokverifyError(
            f"no token matches {selection!r}: ids range from 0 to {len(spec.tokens) - 1}; a pattern must match a whole "
            "piece, such as '*the*'"
        )
    try:
        settings = resolve(spec) if is_loadable else None
    except (BrokenFileError, UnsupportedError):
        settings = None
    return list(_describe(spec, settings, ids))


def _find_by_id(selection: str, count: int) -> list[int]:
    ids: set[int] = set()
    for part in filter(None, map(str.strip, selection.split(","))):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise TokverifyError(f"{part!r} is not a range of ids; write 5, 107-137, or 262000- for all ids from there")
        first = int(match[1] or match[2])
        last = first if match[1] else int(match[3] or count - 1)
        ids.update(range(first, min(last, count - 1) + 1))
    return sorted(ids)


def _find_by_piece(spec: TokenizerSpec, pattern: str) -> list[int]:
    exact = [id for id, token in enumerate(spec.tokens) if token == pattern]
    if exact:
        return exact
    matches = re.compile(translate(pattern)).match
    return [id for id, token in enumerate(spec.tokens) if matches(token)]


def _describe(spec: TokenizerSpec, settings: Settings | None, ids: Iterable[int]) -> Iterator[TokenDetails]:
    types, scores = spec.types or (), spec.scores or ()
    for id in ids:
        attribute = settings.attributes[id] if settings else 0
        yield TokenDetails(
            id=id,
            piece=spec.tokens[id],
            token_bytes=HexBytes(settings.family.token_bytes(settings.pieces[id], attribute, settings))
            if settings
            else None,
            declared=type_name(types[id]) if id < len(types) else None,
            effective=(Attribute(attribute).name or "UNDEFINED") if settings else None,
            score=scores[id] if id < len(scores) else None,
            category=settings.family.token_category(id, settings.pieces[id]) if settings else "",
        )
