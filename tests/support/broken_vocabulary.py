"""Small vocabularies of every family, chosen at random, with pieces that are parts of characters."""

import random
from dataclasses import replace

from support.charsmap_maker import make_charsmap
from support.spec_maker import BYTE_ALPHABET, BYTE_PIECES, bpe_spec, spec_of, spm_spec, unigram_spec
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
