"""Both engines read the same strings from a window of a file, and stop at the same place."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.engine_choice import usable_native_module
from tokverify.files.gguf.strings import read_strings

STRINGS = st.lists(st.text("aé\0\u2581", max_size=3).map(str.encode) | st.binary(max_size=4), max_size=6)


def write(texts: list[bytes], order: str) -> bytes:
    return b"".join(struct.pack(order + "Q", len(text)) + text for text in texts)


@given(STRINGS, st.sampled_from("<>"), st.integers(0, 7), st.integers(0, 30), st.binary(max_size=3))
def test_only_complete_strings_are_read(texts, order, count, missing, before):
    module = usable_native_module()
    if module is None:
        pytest.skip("no native engine")
    data = before + write(texts, order)
    data = data[: max(len(before), len(data) - missing)]
    results: list[tuple[int, list[str]]] = []
    for read in (read_strings, module.read_strings):
        found = ["first"]
        results.append((read(data, len(before), order == ">", count, found), found))
    assert results[0] == results[1]
    position, (first, *found) = results[0]
    kept = [text.encode("utf-8", "surrogateescape") for text in found]
    assert first == "first"
    assert kept == texts[: len(kept)]
    assert position == len(before) + len(write(kept, order))
    assert missing or kept == texts[:count]


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 1])
def test_an_impossible_length_is_left_alone(length):
    data = struct.pack("<QQ", 0, length)
    module = usable_native_module()
    for read in (read_strings, *([module.read_strings] if module else [])):
        found: list[str] = []
        assert read(data, 0, False, 2, found) == 8
        assert found == [""]
