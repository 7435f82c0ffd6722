"""Find tokens of a vocabulary by id or by text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.explain.inspection import type_name

if TYPE_CHECKING:
    from tokverify.engine.family import Settings
    from tokverify.spec import TokenizerSpec

_RANGES = re.compile(r"\s*[0-9]*-?[0-9]*\s*(,\s*[0-9]*-?[0-9]*\s*)*")
_RANGE = re.compile("([0-9]{1,10})|([0-9]{1,10})-([0-9]{0,10})")


@dataclass(frozen=True, slots=True)
class FoundToken:
    """A token with all that the file says of it.

    `declared` and `effective` are types; the latter, and the bytes it stands for, are None where the tokenizer
    cannot be loaded.
    """

    id: int
    piece: str
    token_bytes: bytes | None
    declared: str | None
    effective: str | None
    score: float | None


def find_tokens(spec: TokenizerSpec, selection: str, *, is_loadable: bool = True) -> list[FoundToken]:
    """Find the tokens that a selection names; of a file that is not loadable, as far as it declares them.

    A selection is a list of ids and ranges of ids (`5,107-137,262000-`), or else a shell-style pattern for the whole
    stored text (`*▁the`); a text without special meaning, or that is a token as it stands, names just itself.

    Raises:
        TokverifyError: If there is no such token.
    """
    ids = _by_id(selection, len(spec.tokens)) if _RANGES.fullmatch(selection) else _by_text(spec, selection)
    if not ids:
        raise TokverifyError(
            f"no token selected by {selection!r}: ids go from 0 to {len(spec.tokens) - 1}; a pattern must match the "
            "whole stored text, such as '*the*'"
        )
    try:
        settings = resolve(spec) if is_loadable else None
    except (BrokenFileError, UnsupportedError):
        settings = None
    return list(_found(spec, settings, ids))


def _by_id(selection: str, count: int) -> list[int]:
    ids: set[int] = set()
    for part in filter(None, map(str.strip, selection.split(","))):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise TokverifyError(f"{part!r} is no range of ids; write 5, 107-137, or 262000- for the rest")
        first = int(match[1] or match[2])
        last = first if match[1] else int(match[3] or count - 1)
        ids.update(range(first, min(last, count - 1) + 1))
    return sorted(ids)


def _by_text(spec: TokenizerSpec, pattern: str) -> list[int]:
    exact = [id for id, token in enumerate(spec.tokens) if token == pattern]
    if exact:
        return exact
    matches = re.compile(translate(pattern)).match
    return [id for id, token in enumerate(spec.tokens) if matches(token)]


def _found(spec: TokenizerSpec, settings: Settings | None, ids: Iterable[int]) -> Iterable[FoundToken]:

    types, scores = spec.types or (), spec.scores or ()
    for id in ids:
        attribute = settings.attributes[id] if settings else 0
        yield FoundToken(
            id=id,
            piece=spec.tokens[id],
            token_bytes=settings.family.token_bytes(settings.pieces[id], attribute, settings) if settings else None,
            declared=type_name(types[id]) if id < len(types) else None,
            effective=(Attribute(attribute).name or "UNDEFINED") if settings else None,
            score=scores[id] if id < len(scores) else None,
        )
