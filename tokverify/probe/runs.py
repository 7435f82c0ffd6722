"""Decide the type of tokens that repeat one character, such as runs of newlines, which stay whole between letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, TokverifyError
from tokverify.spec import TokenType

if TYPE_CHECKING:
    from tokverify.probe.queries import Queries
    from tokverify.spec import TokenizerSpec

_LONGEST = 80
"""In characters; longer than most such tokens, so that several are needed."""

_TEXTS = 8
"""The number of runs of each character to encode."""


def find_user_defined_runs(
    queries: Queries, texts: Sequence[str | None], ids: Iterable[int], guess: TokenizerSpec
) -> set[int]:
    """Return those of the tokens `ids` whose runs are encoded as if they were USER_DEFINED, unlike in `guess`.

    An ordinary long run is merged from its beginning or its end, a user-defined one is matched longest first. Tokens of
    the same character have the same type.
    """
    groups: dict[str, list[int]] = {}
    for id in ids:
        text = texts[id] or ""
        if len(set(text)) == 1:
            groups.setdefault(text[0], []).append(id)
    groups = {character: members for character, members in groups.items() if len(members) > 1}
    if not groups:
        return set()
    types = list(guess.types or ())
    for members in groups.values():
        for id in members:
            types[id] = TokenType.USER_DEFINED.value
    try:
        plain, matching = Encoder(guess), Encoder(replace(guess, types=types))
    except TokverifyError:
        return set()
    found: set[int] = set()
    for character, members in groups.items():
        runs = [character * length for length in range(2, _LONGEST)]
        telling = [run for run in runs if _encode(plain, run) != _encode(matching, run)][:_TEXTS]
        expected = queries.encode_all(telling)
        if _count_equal(matching, telling, expected) > _count_equal(plain, telling, expected):
            found.update(members)
    return found


def _count_equal(encoder: Encoder, texts: Sequence[str], expected: Sequence[list[int] | None]) -> int:
    return sum(_encode(encoder, text) == ids for text, ids in zip(texts, expected, strict=True))


def _encode(encoder: Encoder, text: str) -> list[int]:
    try:
        return encoder.encode(text, parse_special=False)
    except EncodeError:
        return []
