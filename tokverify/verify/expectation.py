"""Expectation: what a case itself says its tokens are, by ids or by pieces, and whether a tokenizer agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tokverify.references.location import EXPECT
from tokverify.report.run import Side
from tokverify.tokenizer import Token, pieces_of, shown_tokens

if TYPE_CHECKING:
    from tokverify.cases.case import Case, Expect
    from tokverify.tokenizer import Tokenizer

NO_TOKEN = -1
"""The id of an expected piece that no token of the vocabulary has."""

_MIN_FINGERPRINT_DIGITS = 8
_CAVEAT = "compared with the cases' own `expect` only: nothing vouches for those, and decoding was not compared"


def expect_of(case: Case, side: Side) -> Expect | None:
    """Return what a case expects of a side, by the key that names it most closely; None if none does."""
    for names in _NAMING:
        for key, expect in case.expect.items():
            if names(key, side):
                return expect
    return None


def is_name_of(key: str, side: Side) -> bool:
    """Tell whether what a case expects under this key is expected of a side."""
    return any(names(key, side) for names in _NAMING)


def _by_fingerprint(key: str, side: Side) -> bool:
    return len(key) >= _MIN_FINGERPRINT_DIGITS and (side.fingerprint or "").startswith(key.lower())


def _by_name(key: str, side: Side) -> bool:
    return key in {side.name, *side.aliases}


def _by_family(key: str, side: Side) -> bool:
    return key == side.family


_NAMING: tuple[Callable[[str, Side], bool], ...] = (_by_fingerprint, _by_name, _by_family)


def agrees(expect: Expect, tokenizer: Tokenizer, ids: Sequence[int]) -> bool:
    """Tell whether ids are those expected, or their pieces are."""
    return expect == tuple(ids) or expect == tuple(map(tokenizer.piece, ids))


def expected_tokens(expect: Expect, tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    """Look up what is expected, to be shown opposite `ids`; a piece that no token has gets the id `NO_TOKEN`."""
    # subtle: several tokens may have one piece; that of `ids` is then as good as any.
    known: dict[str, int] = {tokenizer.piece(id): id for id in ids}
    pieces = None
    tokens: list[Token] = []
    for item in expect:
        if isinstance(item, str) and item not in known:
            pieces = pieces_of(tokenizer) if pieces is None else pieces
            known[item] = pieces.index(item) if item in pieces else NO_TOKEN
        id = known[item] if isinstance(item, str) else item
        tokens += [Token(id, str(item), b"")] if id == NO_TOKEN else shown_tokens(tokenizer, [id])
    return tokens


def expect_side(cases: Iterable[Case] = (), actual: Side | None = None) -> Side:
    """Describe the side that is nothing but what `cases` expect.

    `actual` is the other side, if all of them name it and that is why no reference was looked for.
    """
    files = ", ".join(dict.fromkeys(case.file for case in cases if case.file))
    reason = "as requested"
    if actual:
        reason = f"every case has an `expect` for {actual.name}, so that no reference was looked for"
    return Side(EXPECT, f"as in {files}" if files else EXPECT, reason=reason, caveat=_CAVEAT)
