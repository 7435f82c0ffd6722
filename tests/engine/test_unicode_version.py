import unicodedata

import pytest

from tokverify.engine.unicode_version import (
    HAN_NONCHARACTER,
    NONCHARACTER,
    UNASSIGNED,
    blank_unassigned,
    has_unassigned,
    to_base,
    to_lowercase,
)

# Of the 1,114,112 code points, Unicode 15.1 assigns 149,813 characters; 65 are controls, 137,468 for private use, and
# 2,048 surrogates (https://www.unicode.org/versions/Unicode15.1.0/, and chapter 23 of the standard).
UNASSIGNED_COUNT = 1_114_112 - 149_813 - 65 - 137_468 - 2_048

SINCE_16 = "\u1c89\u0897\U00010d40\U00010d4a\U000105c0\U0001ccf0\ua7cb\u2427"
IN_15_1 = "\u2ffc\u31ef\U0002ebf0\U0002ee5d"
NEVER = "\uffff\ufffe\ufdd0\U0010ffff"
IN_USE = "a\n\0é\u0378"[:4] + "漢가🦙\ue000\U0010fffd\u200b\u00ad"


@pytest.fixture(scope="module")
def unassigned() -> set[int]:
    bounds = [[int(bound, 16) for bound in item.split("-")] for item in UNASSIGNED.read_text(encoding="ascii").split()]
    return {point for pair in bounds for point in range(pair[0], pair[-1] + 1)}


def test_the_table_is_in_order_and_complete(unassigned: set[int]):
    bounds = [int(bound, 16) for item in UNASSIGNED.read_text(encoding="ascii").split() for bound in item.split("-")]
    assert bounds == sorted(set(bounds))
    assert len(unassigned) == UNASSIGNED_COUNT


def test_the_table_agrees_with_this_pythons(unassigned: set[int]):
    here = {point for point in range(0x110000) if unicodedata.category(chr(point)) == "Cn"}
    version = tuple(map(int, unicodedata.unidata_version.split(".")))
    if version <= (15, 1, 0):
        assert unassigned <= here
    if version >= (15, 1, 0):
        assert here <= unassigned


@pytest.mark.parametrize("category", "LNPMSZ")
def test_the_patterns_categories_are_those_of_unicode_data(unassigned: set[int], category: str):
    import regex

    known = [
        chr(point)
        for point in range(0x110000)
        if unicodedata.category(chr(point)) not in {"Cn", "Cs"} and point not in unassigned
    ]
    expected = [character for character in known if unicodedata.category(character)[0] == category]
    assert regex.findall(rf"\p{{{category}}}", "".join(known)) == expected


@pytest.mark.parametrize("character", SINCE_16 + NEVER + "\u0378")
def test_newer_and_unassigned_code_points_are_unassigned(character: str):
    assert has_unassigned(f"a{character}b")


@pytest.mark.parametrize("character", IN_15_1 + IN_USE)
def test_assigned_characters_are_known(character: str):
    assert not has_unassigned(character)
    assert blank_unassigned(character) == character


def test_each_unknown_character_is_blanked_by_itself():
    assert blank_unassigned(f"a{SINCE_16}é{NEVER}") == (
        "a" + NONCHARACTER * len(SINCE_16) + "é" + NONCHARACTER * len(NEVER)
    )
    assert blank_unassigned("") == ""


@pytest.mark.parametrize("character", ["\ufa6e", "\U0002a6e0"])
def test_unassigned_code_points_in_chinese_ranges_stay_distinct(character: str):
    is_han = character == "\ufa6e"  # llama.cpp's range of extension B ends at U+2A6DF
    assert blank_unassigned(character) == (HAN_NONCHARACTER if is_han else NONCHARACTER)


@pytest.mark.parametrize(
    ("character", "lowercase"),
    [("A", "a"), ("a", "a"), ("1", "1"), ("É", "é"), ("İ", "i"), ("ß", "ß"), ("\u1c89", "\u1c89")],
)
def test_lowercase_is_one_character(character: str, lowercase: str):
    assert to_lowercase(character) == lowercase


@pytest.mark.parametrize(
    ("character", "base"),
    [("a", "a"), ("é", "e"), ("ṩ", "s"), ("각", "ᄀ"), ("\u0344", "\u0308"), ("\U000105c9", "\U000105c9")],
)
def test_the_base_is_the_first_of_the_decomposition(character: str, base: str):
    assert to_base(character) == base
