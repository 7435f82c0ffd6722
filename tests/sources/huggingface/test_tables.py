"""Tables that are read natively give the same specification as those that Python parses."""

import json

import pytest
import tokenizers

from support.real_data import SHARED
from tokverify.engine.engine_choice import usable_native_module
from tokverify.errors import UnsupportedError
from tokverify.sources.huggingface import document as document_module
from tokverify.sources.huggingface.conversion import convert_leniently
from tokverify.sources.huggingface.document import parse
from tokverify.sources.huggingface.tables import read_tables
from tokverify.spec import TokenizerSpec

NAMES = ["bert-bge", "gemma-3", "gemma-4", "gpt-2", "llama-spm", "mpt"]


def convert_both(data: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[TokenizerSpec, TokenizerSpec]:
    """Convert a tokenizer.json with native tables and without."""
    if usable_native_module() is None:
        pytest.skip("the native engine is not used")
    assert read_tables(data)
    native = convert_leniently(parse(data, "native", {})).spec
    monkeypatch.setattr(document_module, "read_tables", lambda _: None)
    return native, convert_leniently(parse(data, "python", {})).spec


@pytest.mark.parametrize("name", NAMES)
def test_real_vocabularies_are_converted_alike(shared, name, monkeypatch):
    native, python = convert_both((SHARED / "vocabs" / f"{name}.tokenizer.json").read_bytes(), monkeypatch)
    assert native == python


def write(vocab: dict[str, int], merges: list, added: list[tuple[int, str, bool]] = []) -> bytes:  # noqa: B006 - not changed
    """Write a tokenizer.json of byte-level BPE; added tokens are given by id, text and whether they are special."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content = {
        "added_tokens": [{"id": id, "content": text, "special": special, **flags} for id, text, special in added],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": None,
        "model": {"type": "BPE", "vocab": vocab, "merges": merges},
    }
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    "tokens",
    [[(2, "x")], [(1, "a"), (2, "x")], [(3, "y"), (2, "x")], [(4, "x")], [(0, "a")], [(2, "x\0")], []],
    ids=["one follows", "one is a piece", "in another order", "after a gap", "with a wrong id", "with NUL", "none"],
)
@pytest.mark.parametrize("special", [False, True])
def test_added_tokens_are_converted_alike(tokens, special, monkeypatch):
    data = write({"b": 0, "a": 1}, [], [(id, text, special) for id, text in tokens])
    native, python = convert_both(data, monkeypatch)
    assert native == python


@pytest.mark.parametrize("merges", [[["a", "b"], ["b", "a"]], ["a b", "b a"]])
def test_merges_are_converted_alike(merges, monkeypatch):
    native, python = convert_both(write({"a": 0, "b": 1, "ab": 2, "ba": 3}, merges), monkeypatch)
    assert native == python
    assert list(native.merges or ()) == ["a b", "b a"]


@pytest.mark.parametrize("vocab", [{"a": 0, "b": 1, "ab": 3}, {"a": 0, "b": 1, "ab": 2, "\0": 3}], ids=["gap", "NUL"])
def test_merges_are_read_natively_beside_pieces_that_are_not(vocab, monkeypatch):
    data = write(vocab, [["a", "b"]])
    native, python = convert_both(data, monkeypatch)
    assert native == python
    assert list(native.merges or ()) == ["a b"]


def test_a_whole_model_is_read_if_its_merges_are_unusual(monkeypatch):
    data = write({"a": 0, "b": 1, "a b": 2}, [["a", "b"], ["a b", "a"]])
    with pytest.raises(UnsupportedError, match="merge 1 contains a space"):
        convert_both(data, monkeypatch)


def load_prepared(data: bytes) -> tokenizers.Tokenizer | None:
    """Load what is read in place of a tokenizer.json, if anything."""
    tables = read_tables(data)
    return tokenizers.Tokenizer.from_buffer(tables.prepared) if tables and tables.prepared else None


@pytest.mark.parametrize("name", ["gemma-3", "gemma-4", "bert-bge", "gpt-2"])
def test_the_library_makes_the_same_of_a_prepared_document(shared, name):
    pytest.importorskip("tokverify._native")
    data = (SHARED / "vocabs" / f"{name}.tokenizer.json").read_bytes()
    prepared = load_prepared(data)
    assert prepared
    assert prepared.to_str() == tokenizers.Tokenizer.from_buffer(data).to_str()


@pytest.mark.parametrize("piece", ['"', "\\", "\n", "\u2028", "é", "😀", "#", "#versions", "\x7f"])
def test_the_library_makes_the_same_of_any_piece(piece):
    pytest.importorskip("tokverify._native")
    data = write({piece: 0, "a": 1, f"a{piece}": 2}, [["a", piece]])
    prepared = load_prepared(data)
    assert prepared
    assert prepared.to_str() == tokenizers.Tokenizer.from_buffer(data).to_str()


@pytest.mark.parametrize(
    "merges",
    [[], ["a b"], [["a", "b"], "a b"], [["#version", "b"]], [["a ", "b"]], [["a", "b", "a"]]],
    ids=["none", "strings", "both", "a line that is skipped", "a space", "three pieces"],
)
def test_other_merges_are_not_rewritten(merges):
    pytest.importorskip("tokverify._native")
    tables = read_tables(write({"b": 0, "a": 1, "ab": 2, "#version": 3}, merges))
    assert tables
    assert tables.prepared
    assert json.loads(tables.prepared)["model"]["merges"] == merges


def test_the_last_id_of_a_repeated_piece_counts_as_before():
    pytest.importorskip("tokverify._native")
    data = write({"b": 0, "a": 1, "c": 2}, []).replace(b'"c"', b'"b"')
    prepared = load_prepared(data)
    assert prepared
    assert prepared.token_to_id("b") == tokenizers.Tokenizer.from_buffer(data).token_to_id("b") == 2
