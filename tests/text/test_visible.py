import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.text.visible import code_points, visible, visible_message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a b", "a·b"),
        ("a\n\tb\r\n", "a↵→b\\r↵"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x00\x7f", "\\x00\\x7f"),
        ("\x85\xa0\xad", "\\u0085\\u00a0\\u00ad"),
        ("a\u202eb\u200b", "a\\u202eb\\u200b"),
        ("\u2028\u3000\ufeff", "\\u2028\\u3000\\ufeff"),
        ("\ue000\U000e0041\U0010ffff", "\\ue000\\U000e0041\\U0010ffff"),
        ("👨\u200d👩", "👨\\u200d👩"),
        ("❤\ufe0f", "❤\\ufe0f"),
        ("\u3164", "\\u3164"),
        ("\ud800", "\\ud800"),
        ("\udcff", "\\xff"),
        ("[/INST] [red]", "[/INST]·[red]"),
        ("▁the", "▁the"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", "\\u0301e"),
    ],
)
def test_every_character_is_shown(text, shown):
    assert visible(text) == shown


def test_backslashes_and_marks_in_the_text_are_not_shown_like_escapes():
    assert visible("\\x1b") == "\\\\x1b" != visible("\x1b")
    assert visible("·→↵") == "\\u00b7\\u2192\\u21b5"


def test_bytes_read_as_utf8_and_the_rest_as_hex():
    assert visible("é".encode() + b"\xff\xc3") == "é\\xff\\xc3"


def test_spaces_in_quotes_are_kept():
    assert visible(" my  model\x1b\n\\", mark_spaces=False) == " my  model\\x1b↵\\\\"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (" my  model\x1b\n", " my  model\\x1b↵"),
        ("C:\\models\t\u202e", "C:\\models→\\u202e"),
        ("no piece for " + repr("\x1b"), "no piece for '\\x1b'"),
        ("quotes " + visible("a b·\\"), "quotes a·b\\u00b7\\\\"),
        ("e\u0301 \u0301e", "e\u0301 \\u0301e"),
    ],
)
def test_quoted_text_in_a_message_is_not_escaped_again(message, shown):
    assert visible_message(message) == shown


@given(st.text(st.characters()))
def test_escaping_a_message_twice_changes_nothing(text):
    shown = visible_message(text)
    assert shown.isprintable()
    assert visible_message(shown) == shown
    assert visible_message(visible(text)) == visible(text)
    assert visible_message(visible(text, mark_spaces=False)) == visible(text, mark_spaces=False)


def test_a_code_point_is_not_shown_like_a_byte():
    assert visible("\x85") != visible(b"\x85")


LOOK_ALIKES = st.text("\\x1bu0·→↵ \t\n\x1b\x01\u0301", max_size=6)


@given(LOOK_ALIKES, LOOK_ALIKES)
def test_different_texts_look_different(left, right):
    assert (visible(left) == visible(right)) == (left == right)


@given(st.text(st.characters()))
def test_nothing_reaches_the_terminal_but_printable_characters(text):
    shown = visible(text)
    assert shown.isprintable()
    assert " " not in shown


def test_characters_are_named():
    assert code_points(" é🦙") == [
        "U+0020 SPACE",
        "U+00E9 LATIN SMALL LETTER E WITH ACUTE",
        "U+1F999 LLAMA",
    ]


def test_characters_without_a_name_have_a_code_point():
    assert code_points("\t\x01\ue000") == ["U+0009 TAB", "U+0001 (no name)", "U+E000 (no name)"]


def test_bytes_that_are_not_utf8_differ_from_surrogates():
    assert code_points("\udcff\ud800") == ["byte 0xFF", "U+D800 (no name)"]
