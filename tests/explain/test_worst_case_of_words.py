"""The worst case of WordPiece: every word of small vocabularies, and what the library makes of each character."""

import json
import random
from dataclasses import replace
from itertools import product
from unicodedata import normalize

import pytest
from tokenizers import Tokenizer, normalizers

from support.limits import write_json
from support.rule_maker import bert_json, good_bert
from tokverify.commands.tasks.inspect import inspect_model
from tokverify.engine.encoder import Encoder
from tokverify.explain.worst_case import find_worst_case
from tokverify.report.inspect import WorstCase
from tokverify.sources.gguf.writer import write_gguf
from tokverify.spec import TokenizerSpec

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ALPHABET = ["a", "b", " ", "!", "é", "中", "▁", "[MASK]"]


def words_of(*pieces: str, **fields: object) -> TokenizerSpec:
    return good_bert(tokens=[*SPECIAL, *pieces], types=[3] * 5 + [1] * len(pieces), **fields)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["▁a", "a", "ab", "▁!"], WorstCase(1, 1, around=2, text="!")),
        # A piece that only begins words is found before every piece that continues them.
        (["▁", "▁a", "a", "b", "ab"], WorstCase(2, 2, around=2, text="b")),
        (["▁", "▁a", "a", "é", "▁!", "中"], WorstCase(1, 2, around=2, text="▁")),
        (["▁", "▁▁", "▁a", "a", "ab", "▁中", "中"], WorstCase(1, 1, around=2, text="!")),
        # Lowercase and without its accent, it is never looked up.
        (["▁", "▁▁", "É", "A"], WorstCase(1, 1, around=2, text="!")),
        # It matches a part of a character.
        (["▁\udcc3", "\udca9"], None),
    ],
)
def test_no_text_of_a_small_vocabulary_exceeds_it_and_one_attains_it(pieces, expected):
    encoder = Encoder(words_of(*dict.fromkeys(pieces)))
    assert find_worst_case(encoder.settings) == expected
    if not expected:
        return
    assert len(encoder.encode(expected.text, add_special=True)) == expected.per_character + expected.around
    for length in range(5):
        for text in map("".join, product(ALPHABET, repeat=length)):
            tokens = len(encoder.encode(text))
            assert tokens <= expected.per_character * len(text), text
            assert tokens <= expected.per_byte * len(text.encode()), text


@pytest.mark.parametrize("fields", [{}, {"lowercase": False}, {"lowercase": False, "strip_accents": True}])
def test_it_holds_with_every_cleanup(fields):
    encoder = Encoder(words_of("▁", "▁a", "a", "A", "é", "É", "▁A", "ᄒ", "▁한", "한", **fields))
    worst = find_worst_case(encoder.settings)
    assert len(encoder.encode(worst.text)) == worst.per_character == 2
    choose = random.Random(1)  # noqa: S311 - not for cryptography
    for _ in range(500):
        text = "".join(choose.choices([*ALPHABET, "A", "É", "한", "\u0301", "\U0001d160", "\x00"], k=6))
        assert len(encoder.encode(text)) <= 2 * len(text), text


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip_accents", [True, False])
def test_the_library_makes_no_more_letters_of_a_character(tmp_path, lowercase, strip_accents):
    clean = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents).normalize_str
    affected = [
        each
        for each in map(chr, (*range(0xD800), *range(0xE000, 0x110000)))
        if len(each.lower()) > 1 or normalize("NFD", each) != each
    ]
    most = max(affected, key=lambda each: len(clean(each).replace(" ", "")))
    assert max(len(clean(each).replace(" ", "")) / len(each.encode()) for each in affected) <= 1
    spec = words_of("▁ᄀ", "ᅡ", "ᆨ", "ᄀ", "▁개", "▁i", "\u0307", "▁!")
    document = bert_json(replace(spec, lowercase=lowercase), lowercase=lowercase)
    document["normalizer"]["strip_accents"] = strip_accents
    write_json(tmp_path / "tokenizer.json", document)
    worst = inspect_model(tmp_path / "tokenizer.json").worst_case
    assert (worst.per_byte, worst.per_character, worst.around) == (1, max(1, len(clean(most).replace(" ", ""))), 2)
    library = Tokenizer.from_str(json.dumps(document))
    assert len(library.encode(worst.text, add_special_tokens=False).ids) == worst.per_character


def test_a_gguf_file_and_its_reference_have_worst_cases_of_their_own(tmp_path):
    spec = words_of("▁ᄀ", "ᅡ", "ᆨ", "▁!")
    write_gguf(tmp_path / "model.gguf", spec)
    write_json(tmp_path / "tokenizer.json", bert_json(spec, lowercase=True))
    assert inspect_model(tmp_path / "model.gguf").worst_case == WorstCase(1, 1, around=2, text="!")
    assert inspect_model(tmp_path / "tokenizer.json").worst_case == WorstCase(1, 3, around=2, text="각")


def test_it_is_attained_with_a_real_vocabulary(encoder_of, vocabs):
    encoder = encoder_of("bert-bge")
    worst = find_worst_case(encoder.settings)
    assert len(encoder.encode(worst.text, add_special=True)) == worst.per_character + worst.around
    path = vocabs / "bert-bge.tokenizer.json"
    reference = inspect_model(path).worst_case
    library = Tokenizer.from_file(str(path))
    library.no_padding()
    assert len(library.encode(reference.text).ids) == reference.per_character + reference.around
