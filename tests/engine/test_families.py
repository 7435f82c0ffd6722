"""What llama.cpp makes of each model name, and our encoder against llama.cpp's own on small vocabularies."""

import random
from collections.abc import Sequence

import pytest

from support.selection import thinned
from support.spec_maker import BYTE_ALPHABET, BYTE_PIECES, spec_of
from tokverify.engine.encoder import Encoder
from tokverify.engine.settings import resolve
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.spec import TokenizerSpec

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MODES = [(add, parse) for add in (False, True) for parse in (False, True)]


def test_defaults_of_a_bert_file():
    settings = resolve(spec_of("bert", [f"t{id}" for id in range(200)]))
    assert settings.special_ids == {"bos": 101, "unk": 100, "sep": 102, "pad": 0, "mask": 103}
    assert (settings.algorithm, settings.pre) == ("wordpiece", "default")
    assert all([settings.add_bos, settings.add_sep, settings.clean_spaces, settings.lowercase, settings.strip_accents])
    assert not any([settings.add_eos, settings.add_space_prefix])


def test_undeclared_lowercasing_is_reported():
    overrides = [str(override) for override in resolve(spec_of("bert", ["a"])).overrides]
    assert "lowercase: not declared, effective True (llama.cpp's default for the model bert)" in overrides


def test_bert_adds_two_tokens_around_a_text_regardless_of_the_flags():
    special_ids = {"bos": 1, "sep": 2, "eos": 0}
    encoder = Encoder(
        spec_of("bert", ["[UNK]", "[CLS]", "[SEP]", "▁a"], special_ids=special_ids, add_bos=False, add_eos=True)
    )
    assert encoder.encode("a", add_special=True) == [1, 3, 2]


@pytest.mark.parametrize("role", ["bos", "sep"])
def test_bert_without_byte_tokens_is_an_error_of_the_text(role: str):
    special_ids = {"bos": 1, "sep": 1}
    del special_ids[role]
    encoder = Encoder(spec_of("bert", ["[UNK]", "▁a"], special_ids=special_ids))
    with pytest.raises(EncodeError, match=f"{role}_token_id is missing"):
        encoder.encode("a", add_special=True)


def test_a_word_without_a_token_is_minus_one():
    encoder = Encoder(spec_of("bert", ["▁a"]))
    assert encoder.encode("b a") == [-1, 0]
    assert encoder.piece(-1) == ""


def test_bert_with_a_byte_token_is_refused():
    with pytest.raises(BrokenFileError, match="token 1 '<0x0A>' is typed BYTE"):
        Encoder(spec_of("bert", ["a", "<0x0A>"], {"<0x0A>": BYTE}))


def test_decoding_bert_takes_spaces_from_before_punctuation():
    encoder = Encoder(spec_of("bert", ["▁a", "▁,", "▁'", "▁s", "b"]))
    assert encoder.decode([0, 4, 1, 0, 2, 3]) == b" ab , a ' s"
    assert encoder.decode([0, 4, 1, 0, 2, 3], clean_up=True) == b" ab, a's"


@pytest.mark.parametrize("model", ["plamo2", "plamo3"])
def test_defaults_of_a_plamo_file(model: str):
    spec = spec_of(model, ["<unk>", *BYTE_PIECES], dict.fromkeys(BYTE_PIECES, BYTE))
    settings = resolve(spec)
    assert settings.special_ids == {"unk": 0, "bos": 1, "eos": 2, "pad": 3}
    assert not any([settings.add_bos, settings.add_eos, settings.clean_spaces])
    assert settings.escape_whitespaces
    encoder = Encoder(TokenizerSpec(model=model, tokens=spec.tokens, types=spec.types, add_bos=True, add_eos=True))
    assert encoder.encode("\n", add_special=True) == [1, 11, 2]


@pytest.mark.parametrize(("model", "space"), [("rwkv", " "), ("plamo2", " "), ("plamo3", " "), ("bert", None)])
def test_only_spm_and_byte_pairs_heed_the_flag_for_spaces(model: str, space: str | None):
    """llama.cpp enables it for these too, and searches for a plain space or splits there."""
    tokens = ["<unk>", *BYTE_PIECES, "a", " ", "▁", "▁a", "\\n"]
    encoder = Encoder(spec_of(model, tokens, dict.fromkeys(BYTE_PIECES, BYTE) if model != "bert" else {}))
    assert encoder.settings.escape_whitespaces
    pieces = [encoder.piece(id) for id in encoder.encode("a a")]
    assert pieces == (["▁a", "▁a"] if space is None else ["a", space, "a"])


def test_a_plamo_byte_token_of_another_form_is_shown_as_it_is():
    tokens = ["<unk>", *BYTE_PIECES, "<0xZZ>", "<0x0A", "<0x0b>"]
    encoder = Encoder(spec_of("plamo2", tokens, dict.fromkeys(tokens[1:], BYTE)))
    assert encoder.decode([11, 257, 258, 259]) == b"\n<0xZZ><0x0A\x0b"


def test_rwkv_has_no_special_tokens_but_those_declared():
    spec = spec_of("rwkv", ["<s>", "a", "\\n"], {"<s>": CONTROL}, add_bos=True, special_ids={"bos": 0})
    assert resolve(spec_of("rwkv", ["a"])).special_ids == {}
    encoder = Encoder(spec)
    assert encoder.encode("a<s>\n", add_special=True) == [1, 0, 2]
    assert encoder.decode([1, 0, 2]) == b"a<s>\n"


def test_rwkv_shows_every_token_unescaped_whatever_its_type():
    tokens = ["\\x41", "\\n", "\\t", "\\xe4"]
    encoder = Encoder(spec_of("rwkv", tokens, {"\\x41": UNUSED, "\\t": BYTE, "\\xe4": USER_DEFINED}))
    assert encoder.decode([0, 1, 2, 3]) == b"A\n\t\xe4"


# Against llama.cpp itself.


def merges_of(letters: str, count: int, choose: random.Random) -> list[str]:
    """Invent merges of the letters and of the results of earlier merges."""
    parts, merges = [*letters], []
    for _ in range(count):
        left, right = choose.choice(parts), choose.choice(parts)
        if len(left + right) < 8 and f"{left} {right}" not in merges:
            merges.append(f"{left} {right}")
            parts.append(left + right)
    return merges


def bert(choose: random.Random) -> TokenizerSpec:
    words = ["".join(choose.choices("abéß漢ㄱ,'$▁ ", k=choose.choice([1, 1, 2, 3]))) for _ in range(120)]
    # Some pieces are only a part of a character.
    parts = [choose.choice(["▁", ""]) + choose.choice(["\udcc3", "\udca9", "\udce6\udcbc", "\udca2"]) for _ in words]
    tokens = dict.fromkeys(["[UNK]", "[CLS]", "[SEP]", "▁", *"ab", *words, *parts])
    special_ids = {"unk": 0, "bos": 1, "sep": 2}
    return spec_of("bert", [*tokens], {"[UNK]": UNKNOWN, "[SEP]": CONTROL}, special_ids=special_ids)


def rwkv(choose: random.Random) -> TokenizerSpec:
    texts = ["".join(choose.choices("ab é漢\n\0", k=choose.choice([2, 3, 4]))).encode() for _ in range(120)]
    cut = [text[choose.choice([0, 0, 1]) : len(text) - choose.choice([0, 0, 1])] for text in texts]
    tokens = [*(bytes([byte]) for byte in range(0x100)), *cut]
    return spec_of("rwkv", ["<s>", *dict.fromkeys(repr(token)[2:-1] for token in tokens)], {"<s>": CONTROL})


def plamo(model: str, choose: random.Random) -> TokenizerSpec:
    pieces = ["".join(choose.choices("ab 漢é[\ufeff\uee00", k=choose.choice([1, 2, 3]))) for _ in range(60)]
    tokens = ["<unk>", *BYTE_PIECES, "[P]", "<|plamo:a|>", *dict.fromkeys(pieces)]
    scores = [choose.choice([-1.0, -2.0, -3.5, -1000.0, -1001.0, -2000.0, 0.25]) for _ in tokens]
    return spec_of(model, tokens, dict.fromkeys(BYTE_PIECES, BYTE), scores=scores)


def hybriddna(choose: random.Random) -> TokenizerSpec:
    merges = merges_of("ACGTac<dn>/", 60, choose)
    kmers = ["".join(choose.choices("ACGT", k=6)) + "\ue000" for _ in range(200)]
    made = [merge.replace(" ", "") for merge in merges]
    tokens = [*BYTE_ALPHABET, *made, "CCCCCC", "<dna>", "</dna>", "<oov>", "CCCCCC\ue000", *kmers]
    return spec_of("hybriddna", [*dict.fromkeys(tokens)], merges=merges, pre="gpt-2")


def whitespace(choose: random.Random) -> TokenizerSpec:
    letters = "abAé漢がΣσİ,'"
    merges = merges_of(letters, 80, choose)
    tokens = [*letters, *(merge.replace(" ", "") for merge in merges), "<0xC3>", "[MASK]"]
    return spec_of("whitespace", [*dict.fromkeys(tokens)], {"[MASK]": CONTROL}, merges=merges, pre="whitespace")


FAMILIES = {
    "bert": bert,
    "rwkv": rwkv,
    "plamo2": lambda choose: plamo("plamo2", choose),
    "plamo3": lambda choose: plamo("plamo3", choose),
    "hybriddna": hybriddna,
    "whitespace": whitespace,
}


def random_text(pieces: Sequence[str], choose: random.Random) -> str:
    strange = "  \n\x1c\x85\u3000\0\ufeffÉİΣ漢한e\u0301'.,?sGATC😀\ue000"
    parts = [choose.choice([choose.choice(pieces), choose.choice(strange)]) for _ in range(choose.randrange(1, 12))]
    return choose.choice(["", " "]).join(parts)


@pytest.mark.parametrize("seed", thinned(2, range(2)))
@pytest.mark.parametrize("family", FAMILIES)
def test_llama_cpp_agrees(llama_cpp, family: str, seed: int):
    choose = random.Random(seed)  # noqa: S311 - texts, not secrets
    encoder, reference = llama_cpp(FAMILIES[family](choose))
    shown = [encoder.token_bytes(id).decode(errors="ignore") or " " for id in range(encoder.vocab_size)]
    shown += ["<dna>", "</dna>", "[P]", "<|plamo:a|>"] * 8
    texts = ["", *(random_text(shown, choose) for _ in range(300))]
    assert [encoder.piece(id) for id in range(encoder.vocab_size)] == [
        reference.piece(id) for id in range(reference.vocab_size)
    ]
    for add_special, parse_special in MODES:
        expected = reference.encode_many(texts, add_special=add_special, parse_special=parse_special)
        for text, ids in zip(texts, expected, strict=True):
            assert encoder.encode(text, add_special=add_special, parse_special=parse_special) == ids, text
    for ids in expected[:60]:
        assert encoder.decode(ids, clean_up=True) == reference.decode(ids)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (spec_of("rwkv", ["a", "bc", "\\n"]), "ab"),
        (spec_of("bert", ["[UNK]", "▁a"]), "a"),
    ],
)
def test_llama_cpp_fails_where_we_do(llama_cpp, spec: TokenizerSpec, text: str):
    for tokenizer in llama_cpp(spec, seconds=0.5):
        with pytest.raises(EncodeError):
            tokenizer.encode(text, add_special=True, parse_special=True)
