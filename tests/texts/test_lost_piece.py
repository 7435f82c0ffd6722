"""Test the texts in which a merge makes a piece that is not a token."""

from dataclasses import replace

import pytest

from support.spec_maker import bpe_spec
from tokverify.engine.byte_level import spell_bytes
from tokverify.engine.encoder import Encoder
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
def test_bytes_that_nothing_completes_make_no_text(first: bytes, second: bytes):
    assert list(make_losing_texts(losing(first, second))) == []


def test_as_many_ends_are_tried_as_complete_a_character():
    texts = list(make_losing_texts(losing(b"\x80\x80", b"a\xf0\x9f")))
    assert texts[0].encode() == b"\xe1\x80\x80a\xf0\x9f\x80\x80"
    assert len(texts) == 8
