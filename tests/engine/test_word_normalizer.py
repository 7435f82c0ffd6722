import hashlib

import pytest

from tokverify.engine.normalizer import lowercase_normalizer, split_at_spaces, word_normalizer

SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2007\u200a\u2028\u2029\u202f\u205f\u3000"


def normalize(text: str, *, lowercase: bool = False, strip_accents: bool = False) -> str:
    return word_normalizer(lowercase=lowercase, strip_accents=strip_accents)(text)


@pytest.mark.parametrize("space", SPACES)
def test_spaces_of_all_kinds_are_spaces(space: str):
    assert normalize(f"a{space}b") == "a b"
    assert split_at_spaces(f"{space}a{space}{space}b\x1cc{space}") == ["a", "b\x1cc"]


@pytest.mark.parametrize("character", "\0\x01\x1c\x1f\x7f\x9f\xad\u200b\u200d\ufeff\ufffd\ue000\U0010fffd\U000e0041")
def test_control_characters_and_private_ones_are_dropped(character: str):
    assert normalize(f"a{character}b") == "ab"
    assert split_at_spaces(f"a{character}b") == [f"a{character}b"]


@pytest.mark.parametrize("character", "!#%&'()*,-./:;?@[\\]_{}$+<=>^`|~¡§«»·‐—‘’“”…‰‽⁇⟨、。「」！（），．；：？")
def test_punctuation_and_ascii_symbols_stand_alone(character: str):
    assert normalize(f"a{character}b") == f"a {character} b"


@pytest.mark.parametrize("character", "¢£¤¥¦¨©¬®¯°±´¸×÷€™→∞☃＋＄½²Ⅷ٣")
def test_other_symbols_and_numbers_are_parts_of_words(character: str):
    assert normalize(f"a{character}b") == f"a{character}b"


@pytest.mark.parametrize(
    ("code_point", "alone"),
    [
        (0x4E00, True), (0x9FFF, True), (0xA000, False), (0x3400, True), (0x4DBF, True), (0x4DC0, False),
        (0xF900, True), (0xFAFF, True), (0xFB00, False), (0x20000, True), (0x2A6DF, True), (0x2A6E0, False),
        (0x2A700, True), (0x2B81F, True), (0x2F800, True), (0x2FA1F, True),
        # The library that llama.cpp follows has a digit wrong here, and the later blocks are missing.
        (0x2B820, False), (0x2B91F, False), (0x2B920, True), (0x2CEAF, True), (0x2CEB0, False), (0x30000, False),
        (0x3042, False), (0x30A2, False), (0xAC00, False), (0x3005, False),
    ],
)  # fmt: skip
def test_chinese_characters_stand_alone(code_point: int, alone: bool):
    character = chr(code_point)
    assert normalize(f"a{character}b") == (f"a {character} b" if alone else f"a{character}b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Éé", "ee"),
        ("e\u0301\u0323", "e"),
        ("ǖ", "u"),
        # Of a Hangul syllable only the first consonant is left, in the form it has in decomposed text.
        ("각", "\u1100"),
        ("\u1100\u1161\u11a8", "\u1100\u1161\u11a8"),
        ("ø", "ø"),
        # Symbols that decompose into another kind of character.
        ("\u226e", " < "),
        ("\u037e", " ; "),
        ("\u0344", ""),
        ("\u2126", "ω"),
        ("\u1fef", " ` "),
        ("\uf900", " 豈 "),
        ("ｱ", "ｱ"),
    ],
)
def test_stripping_accents(text: str, expected: str):
    assert normalize(text, lowercase=True, strip_accents=True) == expected


def test_without_stripping_accents_marks_are_parts_of_words():
    assert normalize("É e\u0301", lowercase=True) == "é e\u0301"


def test_lowercasing_is_per_character():
    assert normalize("ΣΑΣ ẞ İI Ǆǅ Ⅷ Ⓐ", lowercase=True) == "σασ ß ii ǆǆ ⅷ ⓐ"
    assert lowercase_normalizer()("ΣΑΣ, ẞ\tİI é\u0301") == "σασ, ß\tii é\u0301"


def test_characters_since_unicode_15_1_are_parts_of_words_and_stay_as_they_are():
    # In Unicode 16: a capital letter, a mark, a punctuation mark, and a letter that decomposes.
    text = "a\ua7cb\u0897\U00011bf8\U000105c9\u1c89"
    assert normalize(text, lowercase=True, strip_accents=True) == text
    assert lowercase_normalizer()(text) == text


@pytest.mark.parametrize(
    ("flag", "digest"),
    [
        (True, "df46ffd0ef0b03213e6bee89feebeab9a97a580ed342f2e2eda06cc82824c9e7"),
        (False, "f51132d95c8d30b054d9d0550cb401740c6ba692f9ce3c39009923b9e9a48209"),
    ],
)
def test_every_code_point_is_what_it_is_in_llama_cpp(flag: bool, digest: str):
    """The digests are those of the results of the tables in llama.cpp's `src/unicode-data.cpp`."""
    code_points = [*range(0xD800), *range(0xE000, 0x32400), *range(0xE0000, 0xE0200)]
    normalized = normalize("\n".join(map(chr, code_points)), lowercase=flag, strip_accents=flag)
    assert hashlib.sha256(normalized.encode()).hexdigest() == digest
