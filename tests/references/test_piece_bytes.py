import pytest

from tokverify.engine.byte_level import byte_pieces
from tokverify.references.piece_bytes import piece_bytes, recognize_storage

BYTE_LEVEL = [{"type": "ByteLevel"}]
METASPACE = [{"type": "Metaspace", "replacement": "▁"}]
SPM = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]
NORMALIZED = [{"type": "Replace", "pattern": {"String": " "}, "content": "_"}]
REGEX = [{"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}]
WORDPIECE = [{"type": "WordPiece", "prefix": "##"}]


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
        (["[CLS]", "fox", "##es"], "##es", b"es"),
        (["<s>", "<0x00>", "<0xFF>", "▁fox"], "<0x0A>", b"\n"),
        (["<s>", "▁fox", "##"], "##▁fox", b"## fox"),
        (["▁fox"], "<0x0A>", b"<0x0A>"),
        (["▁fox"], "\udcff", b"\xff"),
    ],
)
def test_the_usual_ways_to_store_pieces_are_recognized(pieces, piece, expected):
    assert recognize_storage(pieces)(piece) == expected


def test_pieces_that_are_stored_in_another_way_are_not_recognized():
    assert recognize_storage(["fox", "a", "b"]) is None
    assert recognize_storage([*map(str, range(200)), "##1"]) is None
