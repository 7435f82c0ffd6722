import json

import pytest

from tokverify.engine.byte_level import byte_alphabet
from tokverify.errors import TokverifyError
from tokverify.train.merge_learner import Ties

ALPHABET = [byte_alphabet()[byte] for byte in range(256)]


def model_of(trained) -> dict:
    return json.loads(trained.data)["model"]


def test_each_byte_is_its_own_id_and_merges_follow_in_order(trained_on):
    trained = trained_on("bpe", "the then the then them " * 3, vocab_size=400)
    model = model_of(trained)
    assert [piece for piece, id in model["vocab"].items() if id < 256] == ALPHABET
    made = ["".join(merge) for merge in model["merges"]]
    assert [model["vocab"][piece] for piece in made] == list(range(256, 256 + len(made)))
    assert made[:3] == ["he", "the", "Ġthe"]


def test_special_tokens_come_last_and_have_roles(trained_on):
    trained = trained_on("bpe", "aa aa", vocab_size=300)
    added = json.loads(trained.data)["added_tokens"]
    size = 256 + len(model_of(trained)["merges"])
    assert [(token["id"], token["content"], token["special"]) for token in added] == [(size, "<|endoftext|>", True)]
    assert {trained.config[key] for key in ("bos_token", "eos_token")} == {"<|endoftext|>"}


def test_ties_go_to_the_pair_with_the_lower_ids(trained_on):
    # `zy` and `ba` both occur twice. In the order of the alphabet's characters, U+0100 and up, control characters
    # would come after letters; by the values of the bytes they come before.
    trained = trained_on("bpe", "zy\nba\nzy\nba", vocab_size=258)
    assert model_of(trained)["merges"] == [["b", "a"]]
    trained = trained_on("bpe", "zy\x01\x02zy\x01\x02zy", vocab_size=258, min_frequency=1)
    assert model_of(trained)["merges"] == [["z", "y"]]
    trained = trained_on("bpe", "zy\x01\x02", vocab_size=258, min_frequency=1)
    assert model_of(trained)["merges"] == [["ā", "Ă"]]


def test_pairs_below_the_minimum_frequency_are_not_learned(trained_on):
    text = "xyxy xyxy abab"
    assert ["a", "b"] in model_of(trained_on("bpe", text, vocab_size=400, min_frequency=2))["merges"]
    assert ["a", "b"] not in model_of(trained_on("bpe", text, vocab_size=400, min_frequency=3))["merges"]


def test_a_small_corpus_yields_fewer_tokens_and_a_note(trained_on):
    (note,) = trained_on("bpe", "aa aa aa", vocab_size=1000).notes
    assert note == "the corpus yields only 259 of the requested 1,000 tokens"
    assert trained_on("bpe", "aa aa aa", vocab_size=258).notes == ()


@pytest.mark.parametrize(("preset", "size", "least"), [(None, 257, "258"), (None, 1, "258"), ("sheepop", 260, "261")])
def test_a_vocabulary_size_that_is_too_small_is_refused(trained_on, preset, size: int, least: str):
    with pytest.raises(TokverifyError, match=f"a vocabulary of {size} tokens is too small: .* take {least}; request"):
        trained_on("bpe", "aa aa", vocab_size=size, preset=preset)


def test_a_corpus_without_repeated_pairs_is_refused(trained_on):
    with pytest.raises(TokverifyError, match="no pair of bytes occurs 2 times"):
        trained_on("bpe", "abc")


def test_an_unknown_preset_is_refused(trained_on):
    with pytest.raises(TokverifyError, match="llama: no such preset; available: sheepop"):
        trained_on("bpe", "aa aa", preset="llama")


def test_a_merge_that_makes_an_existing_piece_is_dropped():
    from tokverify.train.bpe import _drop_repeats

    assert _drop_repeats([["a", "b"], ["ab", "c"], ["b", "c"], ["a", "bc"], ["abc", "d"]]) == [
        ("a", "b"),
        ("ab", "c"),
        ("b", "c"),
        ("abc", "d"),
    ]


TEXT = "low lower lowest new newer newest wide wider widest\n" * 20


@pytest.mark.parametrize("preset", [None, "sheepop"])
def test_the_trace_shows_the_merges_of_the_trainer(trained_on, preset):
    trained = trained_on("bpe", TEXT, vocab_size=320, preset=preset, trace=1000)
    merges = json.loads(trained.data)["model"]["merges"]
    pieces = [*ALPHABET]
    for merge, step in zip(merges, trained.trace, strict=True):
        assert list(merge) == [pieces[id] for id in step.pair]
        pieces.append("".join(merge))


def test_ties_can_go_to_the_first_pair_in_the_corpus(trained_on):
    first = [model_of(trained_on("bpe", "zyx zyx abc abc", vocab_size=258, ties=ties))["merges"][0] for ties in Ties]
    assert first == [["Ġ", "a"], ["z", "y"]]


def test_nothing_is_traced_unless_requested(trained_on):
    assert trained_on("bpe", TEXT, vocab_size=300).trace == ()
