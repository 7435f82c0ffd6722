"""Whether a document fits into memory once it is parsed."""

import pytest

from tokverify.system.json_input import JsonError, fits_memory, parse_json


def cost(document: bytes) -> int:
    """Return the smallest limit with which a document is parsed."""
    return next(limit for limit in range(10_000) if fits_memory(document, limit))


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (b"", 0),
        (b"1", 8),
        (b"[]", 2 * 8 + 88),
        (b"{}", 2 * 8 + 240),
        (b'["a,b"]', 7 * 8 + 88 + 3 * 40),
        (b'{"a": [1, 2]}', 13 * 8 + 240 + 88 + 3 * 40),
    ],
)
def test_objects_lists_texts_and_values_are_counted(document: bytes, expected: int):
    assert cost(document) == expected


def test_a_document_of_frequent_marks_is_counted_exactly():
    document = b"[" + b"," * 100 + b"1" * 99 + b"]"
    exact = cost(document)
    assert exact == len(document) * 8 + 88 + 100 * 40
    assert fits_memory(document, exact)
    assert not fits_memory(document, exact - 1)


def test_a_document_beyond_the_limit_is_refused_with_its_size():
    with pytest.raises(JsonError, match="would need about 8 MiB of memory; the limit is 1 MiB"):
        parse_json(b"[" * 90_000, max_memory=1 << 20)
