from pathlib import Path

import pytest

from support.selection import thinned
from tokverify.engine.byte_level import byte_pieces
from tokverify.references.piece_bytes import piece_bytes, recognize_storage
from tokverify.sources.load import load_gguf
from tokverify.spec import TokenType

BYTE_LEVEL = [{"type": "ByteLevel"}]
METASPACE = [{"type": "Metaspace", "replacement": "▁"}]
SPM = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]
NORMALIZED = [{"type": "Replace", "pattern": {"String": " "}, "content": "_"}]
REGEX = [{"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}]
WORDPIECE = [{"type": "WordPiece", "prefix": "##"}]
IDEOGRAPHS = [chr(0x4E00 + number) for number in range(5000)]


@pytest.mark.parametrize(
    ("stages", "piece", "expected"),
    [
        (BYTE_LEVEL, "Ġfox", b" fox"),
        (BYTE_LEVEL, "ðŁ", b"\xf0\x9f"),
        (BYTE_LEVEL, "a b", b"a b"),
        (METASPACE, "▁fox▁", b" fox "),
        (METASPACE, "<0x0A>", b"<0x0A>"),
        (SPM, "▁fox", b" fox"),
        (SPM, "<0x0A>", b"\n"),
        (SPM, "<0xE2>", b"\xe2"),
        (SPM, "<0x0A>x", b"<0x0A>x"),
        (NORMALIZED, "_fox", b" fox"),
        (REGEX, "▁fox", "▁fox".encode()),
        (WORDPIECE, "##es", b"es"),
        (WORDPIECE, "fox", b" fox"),
        ([], "▁fox", "▁fox".encode()),
    ],
)
def test_a_piece_represents_what_its_stages_produce(stages, piece, expected):
    assert piece_bytes(stages)(piece) == expected


@pytest.mark.parametrize(
    ("pieces", "piece", "expected"),
    [
        (["<s>", *byte_pieces(), "Ġfox"], "Ġfox", b" fox"),
        ([*byte_pieces(), "Ġfox", "▁added"], "Ġfox", b" fox"),
        ([*byte_pieces(), "Ġfox", "▁added"], "▁added", "▁added".encode()),
        (["<0x00>", "<0xFF>", *byte_pieces(), *IDEOGRAPHS, "▁fox"], "▁fox", b" fox"),
        (["<0x00>", "<0xFF>", *byte_pieces(), *IDEOGRAPHS, "▁fox"], "Ġfox", "Ġfox".encode()),
        (["<0x00>", "<0xFF>", *IDEOGRAPHS, "▁"], "▁", b" "),
        (["<0x00>", "<0xFF>", *IDEOGRAPHS, "▁"], "<0x0A>", b"\n"),
        (["fox", "##es", "##ed", "▁"], "fox", b" fox"),
        (["[CLS]", "fox", "##es"], "##es", b"es"),
        (["<s>", "<0x00>", "<0xFF>", "▁fox"], "<0x0A>", b"\n"),
        (["<s>", "▁fox", "##"], "##▁fox", b"## fox"),
        (["▁fox"], "<0x0A>", b"<0x0A>"),
        (["▁fox"], "\udcff", b"\xff"),
    ],
)
def test_the_usual_ways_to_store_pieces_are_recognized(pieces, piece, expected):
    assert recognize_storage(pieces)(piece) == expected


@pytest.mark.parametrize(
    "pieces",
    [[], ["fox", "a", "b"], [*map(str, range(200)), "##1"], [*IDEOGRAPHS, "▁"], ["a", " ", "▁"], [" fox", "▁"]],
)
def test_pieces_that_are_stored_in_another_way_are_not_recognized(pieces):
    assert recognize_storage(pieces) is None


@pytest.mark.parametrize(
    "name",
    thinned(
        2, ["bert-bge", "gemma-3", "gpt-2", "gemma-4", "llama-spm", "mpt", "nomic-bert-moe", "qwen2", "t5", "xlnet"]
    ),
)
@pytest.mark.parametrize("are_typed", [True, False], ids=["typed", "untyped"])
@pytest.mark.slow
def test_the_storage_of_real_vocabularies_is_recognized(vocabs: Path, name: str, are_typed: bool):
    encoder = load_gguf(vocabs / f"{name}.gguf")
    types = encoder.token_types()
    added = {TokenType.CONTROL, TokenType.USER_DEFINED, TokenType.UNKNOWN, TokenType.UNUSED}
    ordinary = [id for id in range(encoder.vocab_size) if types[id] not in added]
    decode = recognize_storage([encoder.piece(id) for id in (ordinary if are_typed else range(encoder.vocab_size))])
    assert [id for id in ordinary if decode(encoder.piece(id)) != encoder.token_bytes(id)] == []
