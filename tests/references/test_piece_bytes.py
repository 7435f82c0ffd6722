import pytest

from tokverify.references.piece_bytes import piece_bytes

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
