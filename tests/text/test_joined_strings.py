"""Strings that are decoded when they are needed."""

import pytest

from tokverify.text.joined_strings import JoinedStrings, join


@pytest.mark.parametrize("strings", [[], [""], ["", ""], ["a", "é", ""], ["\udcff", "b"]])
def test_joined_strings_are_a_sequence_of_the_strings(strings: list[str]):
    joined = JoinedStrings("\0".join(strings).encode("utf-8", "surrogateescape"), len(strings))
    assert len(joined) == len(strings)
    assert list(joined) == strings
    assert (joined == strings, strings == joined, joined == tuple(strings)) == (True, True, True)
    assert joined != [*strings, "a"]
    assert joined[:1] == strings[:1]
    assert join(joined) == join(strings)


def test_joined_strings_are_not_equal_to_a_text():
    assert JoinedStrings(b"a", 1) != "a"
    assert JoinedStrings(b"", 0) != b""


def test_joined_strings_are_compared_without_decoding_them():
    assert JoinedStrings(b"a\0b", 2) == JoinedStrings(b"a\0b", 2)
    assert JoinedStrings(b"", 0) != JoinedStrings(b"", 1)
