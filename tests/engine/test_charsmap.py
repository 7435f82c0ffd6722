from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.charsmap_maker import make_charsmap, pack_charsmap
from tokverify.engine.charsmap import Charsmap, character_size
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.spec import TokenizerSpec

ENDS, FAR = 1 << 8, 1 << 9


def replace(charsmap: Charsmap, text: str) -> bytes:
    """Replace from left to right; bytes that are not in the map stay, one at a time."""
    data, replaced, start = text.encode(), b"", 0
    while start < len(data):
        length, replacement = charsmap.match(data, start) or (1, data[start : start + 1])
        replaced += replacement
        start += length
    return replaced


def test_the_longest_string_is_replaced():
    charsmap = Charsmap(make_charsmap({"a": "1", "ab": "2", "abcd": "3", "ﬁ": "fi", "\n": " ", "z": ""}))
    assert charsmap.match(b"abcx", 0) == (2, b"2")
    assert charsmap.match(b"abcd", 0) == (4, b"3")
    assert charsmap.match(b"xa", 1) == (1, b"1")
    assert charsmap.match(b"bcd", 0) is None
    assert replace(charsmap, "aﬁ\nabcxz!") == b"1fi 2cx!"


def test_a_hand_written_entry_is_found():
    # The base of the root is 0x100, so "a" is at 0x161; the base of that is 0x161 ^ 0x261 = 0x300, where its offset is.
    entries = [0] * 0x400
    entries[0] = 0x100 << 10
    entries[0x161] = 0x261 << 10 | ENDS | ord("a")
    entries[0x300] = 1 << 31 | 4
    assert Charsmap(pack_charsmap(entries, b"xyz\0one\0")).match(b"a", 0) == (1, b"one")


def test_a_distant_step_is_found():
    entries = [0] * 0x400
    entries[0] = 1 << 10 | FAR  # 1 << 8
    entries[0x161] = 2 << 10 | FAR | ENDS | ord("a")  # to 0x161 ^ 0x200
    entries[0x361] = 1 << 31
    assert Charsmap(pack_charsmap(entries, b"one\0")).match(b"a", 0) == (1, b"one")


def test_a_nul_in_the_text_ends_the_search():
    charsmap = Charsmap(make_charsmap({"a": "1", "ab": "2"}))
    assert charsmap.match(b"a\0b", 0) == (1, b"1")
    assert charsmap.match(b"\0", 0) is None


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\0", b"\0\0\0\0", b"\4\0\0\0abcd", b"\5\0\0\0abcd", b"\xff\xff\xff\xffabcd"]
)
def test_charsmaps_that_llama_cpp_refuses_to_load_are_refused(data: bytes):
    with pytest.raises(BrokenFileError, match="precompiled_charsmap"):
        Charsmap(data)


def test_an_empty_trie_replaces_nothing():
    charsmap = Charsmap(b"\3\0\0\0abc\0")
    assert charsmap.match(b"abc", 0) is None


DAMAGES: dict[str, tuple[list[int], bytes]] = {
    "the root leads outside": ([0x400 << 10] + [0] * 0x3FF, b"\0"),
    "a node leads outside": ([0x100 << 10, *[0] * 0x160, 0x2161 << 10 | ENDS | ord("a"), *[0] * 0x100], b"\0"),
    "an offset outside": ([0x100 << 10, *[0] * 0x160, 0x61 << 10 | ENDS | ord("a"), *[0] * 0x9E], b"abc\0"),
    "no end": ([0x100 << 10, *[0] * 0xFF, 1, *[0] * 0x60, 0x61 << 10 | ENDS | ord("a"), *[0] * 0x9E], b"abc"),
}
DAMAGES["an offset outside"][0][0x100] = 1 << 31 | 4


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_an_error_of_the_text_that_meets_it(name: str):
    charsmap = Charsmap(pack_charsmap(*DAMAGES[name]))
    with pytest.raises(EncodeError, match="aborts here"):
        charsmap.match(b"a", 0)


def test_damage_that_no_text_meets_is_no_error():
    charsmap = Charsmap(pack_charsmap(*DAMAGES["an offset outside"]))
    assert charsmap.match(b"b", 0) is None


def test_cycles_do_not_hang():
    # Both "a" and "b" lead back to the root.
    entries = [0] * 0x200
    entries[0] = 0x100 << 10
    entries[0x161] = 0x61 << 10 | ENDS | ord("a")
    entries[0x162] = 0x62 << 10 | ord("b")
    entries[0x100] = 1 << 31
    charsmap = Charsmap(pack_charsmap(entries, b"x\0"))
    assert charsmap.match(b"abab" * 1000 + b"bc", 0) == (3999, b"x")


@pytest.mark.parametrize(
    "replacements", [{b"\xc3": "x"}, {b"\xa9": "x"}, {b"a\xff": "x"}, {b"\xed\xa0\x80": "x"}, {"a": b"\xc3"}]
)
def test_parts_of_characters_can_be_mapped(replacements: dict):
    charsmap = Charsmap(make_charsmap(replacements))
    (string, replacement), *_ = replacements.items()
    string, replacement = (x if isinstance(x, bytes) else x.encode() for x in (string, replacement))
    assert charsmap.match(string, 0) == (len(string), replacement)


letters = st.text("abé–—か\u3099\n ", max_size=4)


@given(st.dictionaries(letters.filter(bool), letters), st.lists(letters).map("".join))
def test_the_trie_finds_what_a_dictionary_finds(replacements: dict[str, str], text: str):
    charsmap = Charsmap(make_charsmap(replacements))
    data = text.encode()
    for start in range(len(data)):
        found = [string for string in replacements if data.startswith(string.encode(), start)]
        longest = max(found, key=len, default=None)
        expected = (len(longest.encode()), replacements[longest].encode()) if longest else None
        assert charsmap.match(data, start) == expected


@given(st.binary(max_size=300), st.text(max_size=20))
def test_random_bytes_never_raise_anything_else(data: bytes, text: str):
    try:
        charsmap = Charsmap(data)
        replace(charsmap, text)
    except (BrokenFileError, EncodeError):
        pass


@pytest.mark.parametrize(
    "character", ["a", "\x7f", "\x80", "é", "\u07ff", "\u0800", "漢", "\uffff", "\U00010000", "😀"]
)
def test_character_size(character: str):
    assert character_size(character.encode()[0]) == len(character.encode())


def test_the_charsmap_of_real_models(spec_of: Callable[[str], TokenizerSpec]):
    charsmap = Charsmap(spec_of("t5").charsmap)
    assert replace(charsmap, "ﬁ①Ａ\ncafe\u0301か\u3099㌔\x07") == "fi1A caféがキロ".encode()
