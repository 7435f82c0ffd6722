"""Texts that are not valid UTF-8 are encoded exactly as llama.cpp does."""

import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.broken_vocabulary import FAMILIES, PARTS, with_parts
from support.real_data import SHARED
from support.selection import thinned
from support.spec_maker import bpe_spec, spm_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.engine.settings import resolve
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.explain.explanation import explain
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.references.llama_cpp_library import Library

BYTES = (
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\x81", b"\xc3", b"\xa9", b"\xe2\x82", b"\x82\xac", b"\xe0\x80\xa0",
    b"\xe0\x81\xa1", b"\xed\xa0\x80", b"\xed\xb2\x80", b"\xed\xbf\xbf", b"\xf0\x9f", b"\x98\x80",
    b"\xf0\x80\x81\xa1", b"\xf8", b"\xff", b"\xfe",
)  # fmt: skip
"""Lone bytes, parts of characters, overlong forms and surrogates."""
TOO_HIGH = (b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf7\xbf\xbf\xbf")
VALID = tuple(
    map(str.encode, ["a", "b", "€", "é", "😀", " ", "  ", "\n", "1", "'s", "\ufffd", "ab", "▁", "\ufeff", "x"])
)
REAL = ("gpt-2", "llama-spm", "bert-bge", "t5")
OTHERS = ("qwen2", "xlnet", "mpt", "gemma-3", "gemma-4", "nomic-bert-moe")


def texts(choose: random.Random, count: int, longest: int = 12) -> list[bytes]:
    parts = [*BYTES, *VALID, *VALID]
    return [b"".join(choose.choices(parts, k=choose.randrange(1, longest))) for _ in range(count)]


def omit_most_errors(encoder: Encoder, data: list[bytes], *, kept: int, **options: bool) -> list[bytes]:
    """Omit all but the first texts that cannot be encoded: llama.cpp aborts for each, and loads its model again."""

    def fails(text: bytes) -> bool:
        try:
            encoder.encode(text, **options)
        except EncodeError:
            return True
        return False

    failing = [text for text in data if fails(text)]
    omitted = set(failing[kept:])
    return [text for text in data if text not in omitted]


def pieces(encoder: Encoder, text: bytes) -> list[str]:
    return list(map(encoder.piece, encoder.encode(text)))


def assert_agrees(encoder: Encoder, text: bytes, expected: list[int] | EncodeError, **options: bool) -> None:
    """Assert that a text has the expected ids, or that it cannot be encoded either."""
    try:
        ids = encoder.encode(text, **options)
    except EncodeError:
        assert isinstance(expected, EncodeError), text
    else:
        assert ids == expected, text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_valid_bytes_are_the_same_as_their_text(text: str):
    encoder = Encoder(spm_spec({"a": -1, "é": -2, "▁a": -1}))
    assert encoder.encode(text.encode()) == encoder.encode(text)


def test_spm_reads_as_many_bytes_as_the_first_one_announces():
    encoder = Encoder(spm_spec({"\udce2ab": -1.0, "c": -1.0}, add_space_prefix=False))
    assert pieces(encoder, b"\xe2abc") == ["\udce2ab", "c"]
    assert pieces(encoder, b"\x82c") == ["<0x82>", "c"]


def test_two_symbols_can_complete_a_character():
    encoder = Encoder(spm_spec({"\udce2aé": -1.0}, add_space_prefix=False))
    assert pieces(encoder, b"\xe2a\xc3\xa9") == ["\udce2aé"]


def test_unigram_replaces_one_byte_at_a_time():
    encoder = Encoder(unigram_spec({"▁": -1, "a": -1, "\ufffd": -1}, add_space_prefix=False))
    assert pieces(encoder, b"\xe2a\xff") == ["\ufffd", "a", "\ufffd"]


def test_overlong_forms_are_no_characters_since_b11739():
    spec, replacement = bpe_spec(["a b"]), list("\ufffd".encode())
    encoder = Encoder(spec)
    assert pieces(Encoder(spec, settings=resolve(spec, 11548)), b"\xc1\xa1b") == ["ab"]
    assert encoder.encode(b"\xc1\xa1b") == [*replacement, *replacement, ord("b")]
    assert encoder.encode(b"\xf4\x90\x80\x80") == replacement * 4
    assert encoder.encode(b"\xed\xa0\x80") == [0xED, 0xA0, 0x80]
    assert encoder.encode(b"\x80") == list("\ufffd".encode())


def test_added_tokens_are_found_between_broken_bytes():
    spec = with_parts(bpe_spec([]), ["<x>"])
    encoder = Encoder(spec)
    assert encoder.encode(b"\xff<x>\xff")[3] == encoder.settings.ids["<x>"]


@pytest.mark.parametrize("data", TOO_HIGH)
def test_a_number_above_unicode_is_an_error_where_llama_cpp_aborts(data: bytes):
    spec = bpe_spec([])
    with pytest.raises(EncodeError, match=r"llama\.cpp aborts"):
        Encoder(spec, settings=resolve(spec, 11548)).encode(b"a" + data)
    assert Encoder(spm_spec({"a": -1})).encode(data)


@pytest.mark.parametrize("seed", thinned(4, range(4)))
@pytest.mark.parametrize("family", FAMILIES)
def test_llama_cpp_agrees(llama_cpp: Callable[..., tuple[Encoder, LlamaCppTokenizer]], family: str, seed: int):
    choose = random.Random(seed)  # noqa: S311 - texts, not secrets
    spec = FAMILIES[family](choose)
    parts = [part for part in choose.sample(PARTS, seed % 3) if part not in spec.tokens]
    encoder, reference = llama_cpp(with_parts(spec, parts))
    data = texts(choose, 300)
    if family == "hybriddna":
        data += [b"<dna>" + text + b"ACG</dna>" + text for text in data]
    for add_special, parse_special in [(False, True), (family in {"spm", "wordpiece"}, False)]:
        options = {"add_special": add_special, "parse_special": parse_special}
        asked = omit_most_errors(encoder, data, kept=10, **options)
        for text, ids in zip(asked, reference.encode_many(asked, **options), strict=True):
            assert_agrees(encoder, text, ids, **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_explained_are_the_ids_of_the_encoder(family: str):
    choose = random.Random(family)  # noqa: S311 - texts, not secrets
    encoder = Encoder(with_parts(FAMILIES[family](choose), []))
    traced = 0
    for text in omit_most_errors(encoder, texts(choose, 50), kept=0):
        try:
            assert list(explain(encoder, text).ids) == encoder.encode(text)
            traced += 1
        except UnsupportedError:
            # Surrogates, which most models encode like characters.
            assert b"\xed" in text or family == "hybriddna"
    assert traced


@pytest.mark.parametrize("family", thinned(2, FAMILIES))
def test_llama_cpp_aborts_on_the_same_texts(llama_cpp: Callable[..., tuple[Encoder, LlamaCppTokenizer]], family: str):
    choose = random.Random(0)  # noqa: S311 - texts, not secrets
    encoder, reference = llama_cpp(FAMILIES[family](choose))
    data = [b"a" + number + b"b" for number in TOO_HIGH]
    for text, ids in zip(data, reference.encode_many(data, add_special=False, parse_special=True), strict=True):
        assert_agrees(encoder, text, ids)


@pytest.mark.process
@pytest.mark.parametrize("name", [*REAL, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_llama_cpp_agrees_on_real_vocabularies(encoder_of: Callable[[str], Encoder], library: Library, name: str):
    choose = random.Random(name)  # noqa: S311 - texts, not secrets
    spec = encoder_of(name).spec
    encoder = Encoder(spec, settings=resolve(spec, library.build))
    data = omit_most_errors(encoder, texts(choose, 400, 20), kept=2, add_special=True)
    for text, ids in zip(data, ask_llama_cpp(name, library, tuple(data)), strict=True):
        assert_agrees(encoder, text, ids, add_special=True)


@cache
def ask_llama_cpp(name: str, library: Library, data: tuple[bytes, ...]) -> list[list[int] | EncodeError]:
    """Return what llama.cpp makes of texts with a real vocabulary, which it loads once for both engines."""
    reference = LlamaCppTokenizer(SHARED / "vocabs" / f"{name}.gguf", library)
    answers = reference.encode_many(data, add_special=True, parse_special=True)
    reference.close()
    return answers
