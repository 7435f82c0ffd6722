"""The preset, compared with the document's section on training."""

import json

import pytest


def merges_of(trained) -> list[tuple[int, int]]:
    """Return the merges as pairs of ids, as the document writes them."""
    model = json.loads(trained.data)["model"]
    return [(model["vocab"][left], model["vocab"][right]) for left, right in model["merges"]]


def test_the_example_of_section_3_4(trained_on):
    # After (97, 97) the pairs (256, 97) and (97, 98) tie; the document "chooses one", the library the lower ids.
    trained = trained_on("bpe", "aaab", preset="sheepop", vocab_size=262, min_frequency=1)
    assert merges_of(trained) == [(97, 97), (97, 98)]


def test_the_example_without_a_tie(trained_on):
    trained = trained_on("bpe", "aaab\naaac", preset="sheepop", vocab_size=262, min_frequency=1)
    assert merges_of(trained) == [(97, 97), (256, 97)]


def test_special_tokens_follow_the_merges(trained_on):
    trained = trained_on("bpe", "aaaa", preset="sheepop", vocab_size=261)
    added = json.loads(trained.data)["added_tokens"]
    assert {token["content"]: token["id"] for token in added} == {
        "<pad>": 257,
        "<unk>": 258,
        "<bos>": 259,
        "<eos>": 260,
    }
    assert {role: trained.config[f"{role}_token"] for role in ("pad", "unk", "bos", "eos")} == {
        "pad": "<pad>",
        "unk": "<unk>",
        "bos": "<bos>",
        "eos": "<eos>",
    }


def test_nothing_is_learned_across_more_than_three_digits(trained_on):
    trained = trained_on("bpe", "123456789 123456789 " * 20, preset="sheepop", vocab_size=400)
    pieces = json.loads(trained.data)["model"]["vocab"]
    assert {"123", "456", "789"} <= set(pieces)
    assert not [piece for piece in pieces if sum(map(str.isdigit, piece)) > 3 or piece.startswith("Ġ1")]


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("Hello world", ["Hello", " world"]),
        ("Hello world!", ["Hello", " world", "!"]),
        ("Hello world 123", ["Hello", " world", " ", "123"]),
        ("1234567", ["123", "456", "7"]),
        ("we'LL it's", ["we", "'LL", " it", "'s"]),
        ("a    b", ["a", "   ", " b"]),
        ("a\r\n\n  b", ["a", "\r\n\n", " ", " b"]),
    ],
)
def test_texts_are_split_by_the_pattern(text: str, chunks: list[str]):
    from tokverify.engine.byte_level import to_byte_level
    from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, splitter
    from tokverify.train.bpe import _sheepop_layout
    from tokverify.train.presets import sheepop

    assert splitter(PRE_TOKENIZERS[sheepop.PRE_TOKENIZER])(text) == chunks
    assert [piece for piece, _ in _sheepop_layout()[1].pre_tokenize_str(text)] == list(map(to_byte_level, chunks))
