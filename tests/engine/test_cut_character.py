"""Added tokens that are part of a character, and the encoding of the rest of the character."""

import random
from collections.abc import Callable

import pytest

from support.broken_vocabulary import FAMILIES, PARTS, with_parts
from support.charsmap_maker import make_charsmap
from support.selection import thinned
from support.spec_maker import BYTE_ALPHABET, bpe_spec, spm_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.references.llama_cpp import LlamaCppTokenizer


def test_spm_treats_trailing_lone_bytes_as_one_symbol_and_leading_ones_as_one_each():
    spec = spm_spec({"\udce2": -1.0, "\udc82\udcac": -1.0}, add_space_prefix=False)
    at_the_end = Encoder(with_parts(spec, ["\udcacb"]))
    assert pieces(at_the_end, "€b") == ["<0xE2>", "<0x82>", "\udcacb"]
    at_the_beginning = Encoder(with_parts(spec, ["a\udce2"]))
    assert pieces(at_the_beginning, "a€") == ["a\udce2", "\udc82\udcac"]


def test_byte_level_pieces_are_those_of_a_replacement_character_for_each_byte():
    encoder = Encoder(with_parts(bpe_spec([]), ["\udcac"]))
    replacement = [BYTE_ALPHABET[byte] for byte in "\ufffd".encode()]
    assert pieces(encoder, "€") == [*replacement, *replacement, "\udcac"]


def test_a_charsmap_sees_the_bytes_and_not_their_replacement():
    charsmap = make_charsmap({"\ufffd": "a", b"\xe2": "b"})
    spec = unigram_spec({"▁": -1.0, "a": -1.0, "b": -1.0, "\ufffd": -1.0}, charsmap=charsmap, add_space_prefix=False)
    encoder = Encoder(with_parts(spec, ["\udcac"]))
    assert pieces(encoder, "\ufffd€") == ["a", "b", "\ufffd", "\udcac"]


def test_the_byte_mapping_is_shown_if_bytes_are_replaced():
    encoder = Encoder(with_parts(bpe_spec([]), ["\udcac"]))
    before, match, after = encoder.trace("a€b").fragments
    assert [before.start, before.end, match.start, match.end, after.start, after.end] == [0, 3, 3, 4, 4, 5]
    words = [*before.trace.words, *after.trace.words]
    ids = [token.id for word in words for token in word.tokens]
    assert [*ids[:-1], match.id, ids[-1]] == encoder.encode("a€b")
    assert [change.before for change in before.trace.rewriting.changes] == [b"\xe2", b"\x82"]


def test_bytes_that_are_unchanged_are_shown():
    encoder = Encoder(with_parts(spm_spec({"a": 0.0}), ["\udcac"]))
    before, match = encoder.trace("€").fragments
    ids = [token.id for word in before.trace.words for token in word.tokens]
    assert [*ids, match.id] == encoder.encode("€")
    assert before.trace.words[0].how.left == ("▁", "\udce2\udc82")


def pieces(encoder: Encoder, text: str) -> list[str]:
    return list(map(encoder.piece, encoder.encode(text)))


@pytest.mark.parametrize("seed", thinned(4, range(4)))
@pytest.mark.parametrize("family", FAMILIES)
def test_llama_cpp_agrees(llama_cpp: Callable[..., tuple[Encoder, LlamaCppTokenizer]], family: str, seed: int):
    choose = random.Random(seed)  # noqa: S311 - texts, not secrets
    spec = FAMILIES[family](choose)
    parts = [part for part in choose.sample(PARTS, 3) if part not in spec.tokens]
    encoder, reference = llama_cpp(with_parts(spec, parts))
    texts = [
        "".join(choose.choices(["€", "😀", "é", "a", "b", " ", "\n", "\ufffd"], k=choose.randrange(1, 9)))
        for _ in range(150)
    ]
    if family == "hybriddna":
        texts += [f"<dna>{'ACGTAC'[: choose.randrange(6)]}{text}ACG</dna>{text}" for text in texts]
    for add_special, parse_special in [(False, True), (family in {"spm", "wordpiece"}, False)]:
        expected = reference.encode_many(texts, add_special=add_special, parse_special=parse_special)
        for text, ids in zip(texts, expected, strict=True):
            assert encoder.encode(text, add_special=add_special, parse_special=parse_special) == ids, (text, parts)
    assert [encoder.decode(ids, clean_up=True) for ids in expected] == reference.decode_many(expected)
