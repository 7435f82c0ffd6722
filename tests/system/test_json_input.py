"""How much memory a document takes once it is parsed, and the limit."""

import pytest

from tokverify.system.json_input import JsonError, estimate_memory, parse_json


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (b"", 0),
        (b"1", 8),
        (b"[]", 2 * 8 + 88),
        (b"{}", 2 * 8 + 240),
        (b'["a,b"]', 7 * 8 + 88 + 3 * 40),
        (b'{"a": [1, 2]}', 13 * 8 + 240 + 88 + 3 * 40),
        (b"[" + b"1," * 100 + b"1]", 203 * 8 + 88 + 100 * 40),
    ],
)
def test_objects_lists_texts_and_values_are_counted(document: bytes, expected: int):
    assert estimate_memory(document) == expected


def test_a_document_beyond_the_limit_is_refused_with_its_size():
    with pytest.raises(JsonError, match="would need about 8 MiB of memory; the limit is 1 MiB"):
        parse_json(b"[" * 90_000, max_memory=1 << 20)
