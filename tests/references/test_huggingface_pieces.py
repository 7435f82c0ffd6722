"""Pieces that are read from the document are those that the library has."""

import json
from collections.abc import Sequence
from copy import deepcopy

import pytest
import tokenizers

from support.real_data import SHARED
from tokverify.references.huggingface import HuggingFaceTokenizer, add_tokens
from tokverify.sources.huggingface.tables import read_tables

NAMES = ["bert-bge", "gemma-3", "gemma-4", "gpt-2", "llama-spm", "mpt"]


def open_document(document: bytes) -> tokenizers.Tokenizer:
    pytest.importorskip("tokverify._native")
    return tokenizers.Tokenizer.from_buffer(document)


def read_pieces(tokenizer: tokenizers.Tokenizer, document: bytes) -> Sequence[str] | None:
    tables = read_tables(document)
    pieces = tables.pieces if tables else None
    return None if pieces is None else add_tokens(pieces, tokenizer)


def listed(tokenizer: tokenizers.Tokenizer) -> list[str]:
    """Ask the library for every piece."""
    return list(HuggingFaceTokenizer(tokenizer).pieces)


@pytest.mark.parametrize("name", NAMES)
def test_the_pieces_of_real_vocabularies_are_read(shared, name):
    document = (SHARED / "vocabs" / f"{name}.tokenizer.json").read_bytes()
    tokenizer = open_document(document)
    assert read_pieces(tokenizer, document) == listed(tokenizer)


def added(id: int, content: str) -> dict:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": id, "content": content, **flags}


def read(content: dict, replace: tuple[str, str] = ("", "")) -> tuple[list[str] | None, list[str]]:
    """Return what is read, and what the library lists."""
    document = json.dumps(content).replace(*replace).encode()
    tokenizer = open_document(document)
    found = read_pieces(tokenizer, document)
    return None if found is None else list(found), listed(tokenizer)


def test_added_tokens_follow_the_pieces_of_the_model(tokenizer_json):
    content = deepcopy(tokenizer_json)
    found, expected = read(content)
    assert found == expected
    assert len(expected) > len(content["model"]["vocab"])


def test_added_tokens_without_pieces_of_a_model_are_read(tokenizer_json):
    content = {**tokenizer_json, "added_tokens": [added(0, "<s>"), added(1, "</s>")], "post_processor": None}
    content["model"] = {"type": "BPE", "vocab": {}, "merges": []}
    found, expected = read(content)
    assert found == expected == ["<s>", "</s>"]


def test_pieces_of_unigram_are_read(tokenizer_json):
    content = deepcopy(tokenizer_json)
    content["model"] = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}
    content["added_tokens"] = [added(0, "<unk>"), added(2, "<tool>")]
    found, expected = read({**content, "post_processor": None})
    assert found == expected == ["<unk>", "a", "<tool>"]


@pytest.mark.parametrize(
    ("vocab", "tokens"),
    [
        ({"[UNK]": 0, "a": 5}, []),
        ({"[UNK]": 0, "a\0": 1}, []),
        ({"[UNK]": 0}, [added(1, "a\0")]),
        ({"[UNK]": 0}, [added(7, "b")]),
    ],
    ids=["missing ids", "NUL in a piece", "NUL in an added token", "an added token with another id"],
)
def test_unusual_vocabularies_are_those_of_the_library(tokenizer_json, vocab, tokens):
    content = {**deepcopy(tokenizer_json), "added_tokens": tokens, "post_processor": None}
    content["model"]["vocab"] = vocab
    found, expected = read(content)
    assert found in (None, expected)


def test_a_piece_that_is_listed_twice_is_left_to_the_library(tokenizer_json):
    content = {**deepcopy(tokenizer_json), "added_tokens": [], "post_processor": None}
    content["model"]["vocab"] = {"[UNK]": 0, "a": 1, "b": 2}
    found, expected = read(content, ('"b": 2', '"a": 2'))
    assert found is None
    assert expected == ["[UNK]", "", "a"]
