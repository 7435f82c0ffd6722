import json

import pytest

from support.cpp_maker import train_cpp
from tokverify.engine.models.cpp.vocabulary import FIXED
from tokverify.errors import TokverifyError
from tokverify.sources.load import load_gguf
from tokverify.train import TRAINERS
from tokverify.train.presets.cpp import avoid_fixed, join

BYTES = 368


def model_of(trained) -> dict:
    return json.loads(trained.data)["model"]


def pieces_of(trained) -> list[str]:
    vocabulary = model_of(trained)["vocab"]
    return sorted(vocabulary, key=vocabulary.__getitem__)


def test_fixed_tokens_come_first_then_bytes_then_learned_pieces(trained_on):
    trained = trained_on("cpp", "alpha alpha alpha", vocab_size=1600 + BYTES + 4)
    pieces = pieces_of(trained)
    assert pieces[:1600] == list(FIXED)
    assert {"a", "Ã", "##a", "##_", "##0", "##\xa1"} <= set(pieces[1600 : 1600 + BYTES])
    assert pieces[1600 + BYTES :] == ["al", "##ha", "##pha", "alpha"]


def test_the_size_is_the_requested_one(trained_on):
    trained = trained_on("cpp", "alpha alpha", vocab_size=3000)
    pieces = pieces_of(trained)
    assert len(pieces) == 3000
    assert pieces[-1] == "<RESERVED_2999>"
    assert trained.notes[0].startswith("llama.cpp has no model `cpp-hybrid`")
    assert trained.notes[1].endswith("of the requested 3,000 tokens; the other ids are reserved")
    assert len(trained_on("cpp", "alpha alpha", vocab_size=1600 + BYTES).notes) == 1


def test_the_default_size_is_the_documented_one():
    assert TRAINERS["cpp"].vocab_size == 32_768


def test_a_vocabulary_too_small_for_the_fixed_part_is_refused(trained_on):
    with pytest.raises(TokverifyError, match="1,967 tokens is too small: 1,600 fixed tokens and 368 bytes of words"):
        trained_on("cpp", "alpha", vocab_size=1600 + BYTES - 1)


def test_the_same_corpus_yields_the_same_bytes(trained_on):
    text = "one two three four five six seven integer interface \u00e9\u00e8 " * 3
    assert trained_on("cpp", text, vocab_size=2500).data == trained_on("cpp", text, vocab_size=2500).data


def test_fixed_words_special_tokens_and_lines_are_not_learned_from(trained_on):
    trained = trained_on("cpp", "int int<EOS>int\nint return 999 ++i /*" * 9, vocab_size=2500)
    assert model_of(trained)["merges"] == []


def test_pairs_below_the_minimum_frequency_are_not_learned(trained_on):
    text = "alpha alpha beta"
    assert "alpha" in pieces_of(trained_on("cpp", text, vocab_size=2500))
    assert "beta" not in pieces_of(trained_on("cpp", text, vocab_size=2500))
    assert "beta" in pieces_of(trained_on("cpp", text, vocab_size=2500, min_frequency=1))


@pytest.mark.parametrize("word", ["integer", "interface", "newline", "printing", "1024", "65536", "forwarded"])
def test_no_merge_makes_or_continues_a_fixed_token(trained_on, word: str):
    trained = trained_on("cpp", f"{word} {word} {word}s {word}s", vocab_size=2500)
    merges = [tuple(merge) for merge in model_of(trained)["merges"]]
    assert word in pieces_of(trained)
    assert not {join(*merge) for merge in merges} & set(FIXED)
    assert not {left for left, _ in merges if len(left) > 1} & set(FIXED)


def test_a_piece_built_through_a_fixed_token_takes_a_detour():
    learned = [("i", "##n"), ("in", "##t"), ("##e", "##r"), ("int", "##er"), ("inter", "##n")]
    merges, pieces = avoid_fixed(learned, 100)
    # `in` and `##t` must not be joined, so `##t` and `##er` are.
    assert merges == [("i", "##n"), ("##e", "##r"), ("##t", "##er"), ("in", "##ter"), ("inter", "##n")]
    assert pieces == ["in", "##er", "##ter", "inter", "intern"]


def test_a_piece_that_needs_no_detour_keeps_its_merge():
    merges, _ = avoid_fixed([("f", "##o"), ("fo", "##r"), ("for", "##m"), ("form", "##s")], 100)
    assert merges == [("f", "##o"), ("##r", "##m"), ("fo", "##rm"), ("form", "##s")]


def test_merges_stop_when_there_is_no_room():
    merges, pieces = avoid_fixed([("a", "##b"), ("##c", "##d"), ("ab", "##cd")], 2)
    assert merges == [("a", "##b"), ("##c", "##d")]
    assert pieces == ["ab", "##cd"]


def test_a_corpus_of_only_fixed_words_still_makes_a_file(tmp_path):
    gguf = train_cpp(tmp_path, "int x;", vocab_size=1600 + BYTES)
    assert load_gguf(gguf).encode("int x;") == [FIXED.index("int"), 1676, FIXED.index(";")]
