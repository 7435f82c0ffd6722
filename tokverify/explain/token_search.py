"""Find tokens of a vocabulary by id or by piece."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate

from tokverify.engine.attribute import Attribute
from tokverify.engine.family import Settings
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.explain.inspection import type_name
from tokverify.report.inspect import TokenDetails
from tokverify.spec import TokenizerSpec
from tokverify.tokenizer import HexBytes

_RANGES = re.compile(r"\s*[0-9]*-?[0-9]*\s*(,\s*[0-9]*-?[0-9]*\s*)*")
_RANGE = re.compile("([0-9]{1,10})|([0-9]{1,10})-([0-9]{0,10})")


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
