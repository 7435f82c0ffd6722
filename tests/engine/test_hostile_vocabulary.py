"""Hostile vocabularies: each gives the ids of llama.cpp or one clear error, and is fast."""

from collections.abc import Sequence
from math import inf, nan

import pytest

from support.spec_maker import BYTE_ALPHABET, BYTE_PIECES
from tokverify.engine.encoder import Encoder
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.spec import TokenizerSpec, TokenType

MILLION = "ab" * 500_000


def by_score(
    pieces: Sequence[str],
    scores: Sequence[float] | None = None,
    model: str = "llama",
    type: TokenType = TokenType.NORMAL,
    **fields: object,
) -> TokenizerSpec:
    """A vocabulary of bytes and `pieces`, the first of them the best."""
    types = [TokenType.UNKNOWN, *[TokenType.BYTE] * 256, *[type] * len(pieces)]
    scores = [0.0] * 257 + list(scores or map(float, range(-1, -1 - len(pieces), -1)))
    tokens = ["<unk>", *BYTE_PIECES, *pieces]
    special_ids = {"unk": 0}
    return TokenizerSpec(
        model=model,
        tokens=tokens,
        types=types,
        scores=scores,
        special_ids=special_ids,
        add_space_prefix=False,
        **fields,
    )


def by_rank(pieces: Sequence[str], merges: Sequence[str]) -> TokenizerSpec:
    return TokenizerSpec(model="gpt2", pre="gpt-2", tokens=[*BYTE_ALPHABET, *pieces], merges=merges)


RESULTS = {
    "a piece of a million characters": (by_score([MILLION, "ab", "a", "b"]), "abab", ["ab", "ab"]),
    "an added token of a million characters": (
        by_score([MILLION, "ab"], type=TokenType.USER_DEFINED), f"a{MILLION}b", ["<0x61>", MILLION, "<0x62>"],
    ),
    "an empty piece": (by_score(["", "a"]), "[EMPTY_257]a", [*(f"<0x{byte:02X}>" for byte in b"[EMPTY_257]"), "a"]),
    "infinite scores": (
        by_score(["a", "b", "▁", "ab", "bb"], [0.0, 0.0, 0.0, -inf, inf]), "abb ab", ["a", "bb", "▁", "ab"],
    ),
    "added tokens that overlap: the longest goes first": (
        by_score(["ab", "bcd"], type=TokenType.USER_DEFINED), "abcd", ["<0x61>", "bcd"],
    ),
    "400 added tokens that begin each other": (
        by_score(["a" * length for length in range(1, 401)], type=TokenType.USER_DEFINED),
        "a" * 450, ["a" * 400, "a" * 50],
    ),
    "a merge of a million characters": (by_rank([MILLION, "ab"], [f"{MILLION} a", "a b"]), "abab", ["ab", "ab"]),
    "merges that are none": (by_rank(["ab"], ["", " ", "q", "a b c", " a b", "x y", "a b"]), "xyab", ["x", "y", "ab"]),
    "a merge whose result is no piece": (by_rank(["bc"], ["a b", "b c"]), "abc", ["a", "b", "c"]),
    "a merge listed twice counts where it is first": (by_rank(["ab", "bc"], ["a b", "b c", "a b"]), "abc", ["ab", "c"]),
    "unigram: a piece of a million characters": (by_score([MILLION, "a", "b"], model="t5"), "ab", ["a", "b"]),
}  # fmt: skip
ERRORS = {
    "duplicates": (by_score(["ab", "ab"]), BrokenFileError, "'ab' twice, as ids 257 and 258"),
    "the same bytes twice": (by_score(["é", "\udcc3\udca9"]), BrokenFileError, "'é' twice, as ids 257 and 258"),
    "scores that are not numbers": (by_score(["a", "ab"], [nan, nan]), BrokenFileError, "the score of id 257 is nan"),
    "a charsmap without its length": (
        by_score(["a"], model="t5", charsmap=b"\1"), BrokenFileError, "precompiled_charsmap has 1 bytes",
    ),
    "a truncated charsmap": (
        by_score(["a"], model="t5", charsmap=b"\x08\0\0\0" + b"\xff" * 4), BrokenFileError, "truncated",
    ),
    "a charsmap that leads out of itself": (
        by_score(["a"], model="t5", charsmap=b"\x00\x04\0\0" + b"\xff" * 1024 + b"abc"),
        BrokenFileError, "is needed",
    ),
    "no tokenizer": (TokenizerSpec(model="none", tokens=[]), UnsupportedError, "works without a tokenizer"),
    "a pre-tokenizer spelled wrong": (
        TokenizerSpec(model="gpt2", pre="llama-bpee", tokens=["a"], merges=[]),
        UnsupportedError, "did you mean llama-bpe",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_result(name: str):
    spec, text, pieces = RESULTS[name]
    encoder = Encoder(spec)
    assert [encoder.piece(id) for id in encoder.encode(text)] == pieces


@pytest.mark.parametrize("name", ERRORS)
def test_error(name: str):
    spec, error, message = ERRORS[name]
    with pytest.raises(error, match=message) as raised:
        Encoder(spec)
    assert "\n" not in str(raised.value)
