"""Test the texts in which a merge makes a piece that is not a token."""

from dataclasses import replace

import pytest

from support.spec_maker import bpe_spec
from tokverify.engine.byte_level import spell_bytes
from tokverify.engine.encoder import Encoder
from tokverify.texts import lost_piece
from tokverify.texts.lost_piece import make_losing_texts


def losing(first: bytes, second: bytes) -> Encoder:
    """Make an encoder with a merge that makes a piece without a token, the last one of its vocabulary."""
    spec = bpe_spec([f"{spell_bytes(first)} {spell_bytes(second)}"], tokens=[spell_bytes(first), spell_bytes(second)])
    tokens = [token for token in spec.tokens if token != spell_bytes(first + second)]
    return Encoder(replace(spec, tokens=tokens, types=[1] * len(tokens)))


@pytest.mark.parametrize(
    ("first", "second"), [(b"a", b"b"), (b"\xc3", b"\xa9"), (b"\x82", b"\xac"), (b"a", b"\xe2"), (b"\xe2", b"\x82")]
)
def test_ends_that_are_parts_of_characters_are_completed(first: bytes, second: bytes):
    texts = list(make_losing_texts(losing(first, second)))
    assert texts
    assert all(first + second in text.encode() for text in texts)


@pytest.mark.parametrize(("first", "second"), [(b"\xe2", b"a"), (b"\x80\x80", b"\x80\x80"), (b"a\xff", b"b")])
def test_bytes_that_nothing_completes_are_not_tried(first: bytes, second: bytes, monkeypatch: pytest.MonkeyPatch):
    """As of tokens whose letters were decomposed: thousands of texts had 19,000 completions each."""
    tried: list[bytes] = []
    monkeypatch.setattr(lost_piece, "from_utf8", tried.append)
    assert list(make_losing_texts(losing(first, second))) == []
    assert tried
    assert all(data.startswith((first, second)) for data in tried)
