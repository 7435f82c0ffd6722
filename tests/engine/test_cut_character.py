"""Added tokens that are part of a character, and the encoding of the rest of the character."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from support.charsmap_maker import make_charsmap
from support.spec_maker import BYTE_ALPHABET, BYTE_PIECES, bpe_spec, spec_of, spm_spec, unigram_spec
from tokverify.engine.encoder import Encoder
from tokverify.errors import UnsupportedError
from tokverify.references.llama_cpp import LlamaCppTokenizer
from tokverify.spec import TokenizerSpec, TokenType

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = (
    TokenType[name].value for name in ("NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "BYTE")
)
PARTS = (
    "\udce2",
    "\udce2\udc82",
    "\udc82",
    "\udcac",
    "\udc9f",
    "\udc98\udc80",
    "\udcc3",
    "\udca9",
    "a\udcc3",
    "\udca9 ",
)
"""Parts of €, 😀 and é, and of é with its neighbors."""
LEFT = ("\udcac", "\udc82\udcac", "\udce2\udc82", "\udcf0\udc9f", "a\udce2", "\udc80b", "é\udce2\udc82", "\ufffd")
"""What may be left of them; some are ordinary pieces."""


def spm(choose: random.Random) -> TokenizerSpec:
    scores = {piece: choose.uniform(-9, 0) for piece in ["▁", "a", "b", "é", "▁a", "ab", "€", "aé", *LEFT]}
    return spm_spec(scores, add_space_prefix=choose.choice([True, False]))


def unigram(choose: random.Random) -> TokenizerSpec:
    scores = {piece: choose.uniform(-9, 0) for piece in ["▁", "a", "b", "é", "▁a", "ab", "€", "aé", "x", *LEFT]}
    charsmap = make_charsmap({"\ufffd": "x", "é": "e", "b€": "€", b"\x82\xac": "ab", b"a\xc3": "b"})
    return unigram_spec(scores, charsmap=choose.choice([None, charsmap]))


def bpe(choose: random.Random) -> TokenizerSpec:
    replacement = "".join(BYTE_ALPHABET[byte] for byte in "\ufffd".encode())
    merges = [" ".join(replacement[:2]), f"{replacement[:2]} {replacement[2]}", "Ġ a", "Ã ©", f"a {replacement}"]
    return bpe_spec(merges, pre=choose.choice(["gpt-2", "llama-bpe", "qwen2", "deepseek-llm"]))


def gemma4(choose: random.Random) -> TokenizerSpec:
    tokens = ["<unk>", *BYTE_PIECES, "▁", "a", "b", "é", "▁a", "\ufffd\ufffd", *LEFT]
    choose.shuffle(tokens)
    return spec_of("gemma4", tokens, dict.fromkeys(BYTE_PIECES, BYTE), merges=["▁ a", "\ufffd \ufffd"])


def wordpiece(choose: random.Random) -> TokenizerSpec:
    tokens = ["[UNK]", "[CLS]", "[SEP]", "▁a", "▁b", "a", "b", "e", "▁€", "▁e", *LEFT]
    return spec_of("bert", tokens, {"[UNK]": UNKNOWN}, special_ids={"unk": 0, "bos": 1, "sep": 2})


def rwkv(choose: random.Random) -> TokenizerSpec:
    pieces = [
        choose.choice(["\\xe2\\x82", "\\x82\\xac", "\\x82\\xaca", "a\\xe2", "ab", "\\xac", "\\xf0\\x9f"]) for _ in "123"
    ]
    tokens = ["<s>", *(f"\\x{byte:02x}" for byte in range(0x100)), *dict.fromkeys(pieces)]
    return spec_of("rwkv", tokens, {"<s>": CONTROL})


def plamo(model: str, choose: random.Random) -> TokenizerSpec:
    tokens = ["<unk>", *BYTE_PIECES, "a", "b", " ", "é", "\ufffd", "a\ufffd", "\ufffd\ufffd", "€"]
    return spec_of(model, tokens, dict.fromkeys(BYTE_PIECES, BYTE), scores=[choose.uniform(-9, 0) for _ in tokens])


def hybriddna(choose: random.Random) -> TokenizerSpec:
    kmers = [
        "ACGTAC\ue000",
        "A\udcac\udc82CGT\ue000",
        "\udcacAAAAA\ue000",
        "\udc82\udcacAAAA\ue000",
        "AC\udce2\udc82AA\ue000",
    ]
    tokens = [*BYTE_ALPHABET, "<dna>", "</dna>", "<oov>", *kmers]
    return spec_of("hybriddna", tokens, merges=["a b"], pre="gpt-2")


def whitespace(choose: random.Random) -> TokenizerSpec:
    tokens = [*"abé€", "ab", "\ufffd", "a\ufffd", "<0xC3>"]
    return spec_of("whitespace", tokens, merges=["a b", "a \ufffd"], pre="whitespace")


FAMILIES = {
    "spm": spm,
    "unigram": unigram,
    "bpe": bpe,
    "gemma4": gemma4,
    "wordpiece": wordpiece,
    "rwkv": rwkv,
    "plamo2": lambda choose: plamo("plamo2", choose),
    "plamo3": lambda choose: plamo("plamo3", choose),
    "hybriddna": hybriddna,
    "whitespace": whitespace,
}


def with_parts(spec: TokenizerSpec, parts: list[str]) -> TokenizerSpec:
    """Add tokens, user-defined and control ones by turns."""
    kinds = [USER_DEFINED, CONTROL] * len(parts)
    return replace(
        spec,
        tokens=[*spec.tokens, *parts],
        types=[*spec.types, *kinds[: len(parts)]],
        scores=[*spec.scores, *[0.0] * len(parts)] if spec.scores else None,
    )


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


def test_the_byte_mapping_is_not_shown_if_bytes_are_unchanged():
    encoder = Encoder(with_parts(spm_spec({"a": 0.0}), ["\udcac"]))
    assert encoder.trace("a")
    with pytest.raises(UnsupportedError, match="splits a character"):
        encoder.trace("€")


def pieces(encoder: Encoder, text: str) -> list[str]:
    return list(map(encoder.piece, encoder.encode(text)))


@pytest.mark.parametrize("seed", range(4))
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
