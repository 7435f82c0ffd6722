"""Both engines read the same strings from a window of a file, and stop at the same place."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.engine_choice import usable_native_module
from tokverify.engine.joined_strings import JoinedStrings
from tokverify.sources.gguf.cursor import ValueType, join_strings, split_strings
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.values import pack_value
from tokverify.text.utf8 import to_text

STRINGS = st.lists(st.text("aé\0\u2581", max_size=3).map(str.encode) | st.binary(max_size=4), max_size=6)


def write(texts: list[bytes], order: str) -> bytes:
    return b"".join(struct.pack(order + "Q", len(text)) + text for text in texts)


@given(STRINGS, st.sampled_from("<>"), st.integers(0, 7), st.integers(0, 30), st.binary(max_size=3))
def test_only_complete_strings_are_read(texts, order, count, missing, before):
    data = before + write(texts, order)
    data = data[: max(len(before), len(data) - missing)]
    end, taken, found = split_strings(data, len(before), order == ">", count)
    assert found == texts[:taken]
    assert end == len(before) + len(write(found, order))
    assert missing or found == texts[:count]
    assert join_strings(data, len(before), order == ">", count) == (end, taken, [b"\0".join(found)])


@given(STRINGS, st.sampled_from("<>"), st.booleans())
def test_strings_are_packed_as_they_are_read(texts, order, is_joined):
    strings = [to_text(text) for text in texts if not (is_joined and b"\0" in text)]
    data = JoinedStrings.of(strings) if is_joined else strings
    packed = pack_value(Value(ValueType.ARRAY, data, ValueType.STRING), order)
    expected = [string.encode("utf-8", "surrogateescape") for string in strings]
    assert packed == struct.pack(order + "IQ", ValueType.STRING, len(strings)) + write(expected, order)


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 1])
def test_an_impossible_length_is_left_alone(length):
    data = struct.pack("<QQ", 0, length)
    assert split_strings(data, 0, False, 2) == (8, 1, [b""])
    assert join_strings(data, 0, False, 2) == (8, 1, [b""])


def test_strings_are_joined_natively_where_possible(monkeypatch):
    data = write([b"a", b"b"], "<")
    joined = join_strings(data, 0, False, 2)
    assert joined == (len(data), 2, [b"a\0b"])
    monkeypatch.setenv("TOKVERIFY_ENGINE", "python")
    assert usable_native_module() is None
    assert join_strings(data, 0, False, 2) == joined
