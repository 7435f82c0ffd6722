"""Expectation: the ids or pieces that a case itself expects, and whether a tokenizer agrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tokverify.case import Case, Expect
from tokverify.references.location import EXPECT
from tokverify.report.difference import NO_TOKEN
from tokverify.report.run import CaseResult
from tokverify.report.side import Side
from tokverify.tokenizer import Token, Tokenizer, pieces_of, tokens_for_display

_MIN_FINGERPRINT_DIGITS = 8
_CAVEAT = "compared with the cases' own `expect` only: nothing confirms those, and decoding was not compared"


def expect_of(case: Case, side: Side) -> Expect | None:
    """Return what a case expects from a side, by the key that names it most precisely; None if no key does."""
    if case.expect:
        for names in _NAMING:
            for key, expect in case.expect.items():
                if names(key, side):
                    return expect
    return None


def is_name_of(key: str, side: Side) -> bool:
    """Check whether a key of a case's `expect` names a side."""
    return any(names(key, side) for names in _NAMING)


def _by_fingerprint(key: str, side: Side) -> bool:
    return len(key) >= _MIN_FINGERPRINT_DIGITS and (side.fingerprint or "").startswith(key.lower())


def _by_name(key: str, side: Side) -> bool:
    return key in {side.name, *side.aliases}


def _by_family(key: str, side: Side) -> bool:
    return key == side.family


_NAMING: tuple[Callable[[str, Side], bool], ...] = (_by_fingerprint, _by_name, _by_family)


def agrees(expect: Expect, tokenizer: Tokenizer, ids: Sequence[int]) -> bool:
    """Check whether the ids, or their pieces, are as expected."""
    return len(expect) == len(ids) and (expect == tuple(ids) or expect == tuple(map(tokenizer.piece, ids)))


def expected_tokens(expect: Expect, tokenizer: Tokenizer, ids: Sequence[int]) -> list[Token]:
    """Look up the expected tokens, to be shown opposite `ids`; a piece that no token has gets the id `NO_TOKEN`."""
    # subtle: several tokens may have the same piece; the one in `ids` is then as good as any.
    known: dict[str, int] = {tokenizer.piece(id): id for id in ids}
    pieces = None
    tokens: list[Token] = []
    for item in expect:
        if isinstance(item, str) and item not in known:
            pieces = pieces_of(tokenizer) if pieces is None else pieces
            known[item] = pieces.index(item) if item in pieces else NO_TOKEN
        id = known[item] if isinstance(item, str) else item
        tokens += [Token(id, str(item), b"")] if id == NO_TOKEN else tokens_for_display(tokenizer, [id])
    return tokens


def describe_agreement(result: CaseResult, owner: Tokenizer) -> tuple[str, ...]:
    """Return a note on which side agrees with what the case itself expects, if it expects anything."""
    if result.expect is None:
        return ()
    if result.actual == result.expected:
        return ("both sides agree, but not with the case's own `expect`",)
    sides = {"actual": result.actual, "expected": result.expected}
    right = [f"with {role}" for role, ids in sides.items() if agrees(result.expect, owner, ids)]
    return (f"the case's own `expect` agrees {' and '.join(right) or 'with neither side'}",)


def describe_missing(tokens: Iterable[Token]) -> tuple[str, ...]:
    """Return a note on the expected pieces that no token has, if there are any."""
    missing = dict.fromkeys(repr(token.piece) for token in tokens if token.id == NO_TOKEN)
    return (f"no token has the expected piece {', '.join(missing)}",) if missing else ()


def expect_side(cases: Iterable[Case] = (), actual: Side | None = None) -> Side:
    """Describe the side that consists of what `cases` expect.

    `actual` is the other side, if there is no reference beside it, and none was looked for because all cases name it.
    """
    files = ", ".join(dict.fromkeys(case.file for case in cases if case.file))
    reason = "as requested"
    if actual:
        reason = f"every case has an `expect` for {actual.name}, so a reference was looked for only beside it"
    return Side(EXPECT, f"as in {files}" if files else EXPECT, reason=reason, caveat=_CAVEAT)
