import pytest

from tokverify.explain.stats import text
from tokverify.explain.stats.text import JAPANESE, OTHER, UNSPACED, learn_scripts, script_of_letter, script_of_line


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("plain words", "Latin"),
        ("café, naïve", "Latin"),
        ("Привет, world", "Cyrillic"),
        ("Привет, wonderful world", "Latin"),
        ("γεια", "Greek"),
        ("漁網和船", "Han"),
        ("漁の網", JAPANESE),
        ("カモメ", JAPANESE),
        ("갈매기들의 차지", "Hangul"),
        ("नावों के", "Devanagari"),
        ("الميناء", "Arabic"),
        ("ท่าเรือ", "Thai"),
        ("𐌰𐌱", OTHER),
        ("12, 34!\n", None),
        ("— … ١٢", None),
        ("", None),
    ],
)
def test_the_script_of_most_letters_counts(line, script):
    assert script_of_line(line) == script


def test_scripts_without_spaces_are_recognized_by_the_names_of_their_lines():
    assert {script_of_line(line) for line in ("船", "船が", "เรือ")} <= UNSPACED


def test_a_letter_has_the_script_of_the_line_that_it_is():
    assert [script_of_letter(character) for character in "aé漢が1"] == ["Latin", "Latin", "Han", JAPANESE, None]
    characters = list(map(chr, range(0x3100)))
    assert list(map(script_of_letter, characters)) == list(map(script_of_line, characters))


def test_characters_that_are_looked_up_together_have_the_same_scripts(monkeypatch: pytest.MonkeyPatch):
    characters = [chr(code_point) for code_point in range(0x20, 0x20000, 7) if not 0xD800 <= code_point < 0xE000]
    alone = list(map(script_of_letter, characters))
    monkeypatch.setattr(text, "_SCRIPT_OF", text._Scripts())
    learn_scripts(characters)
    assert len(text._SCRIPT_OF) == len(characters)
    assert list(map(script_of_letter, characters)) == alone
    assert {"Latin", "Han", JAPANESE, OTHER, None} <= set(alone)
