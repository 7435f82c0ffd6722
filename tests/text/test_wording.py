"""Quoting and listing in messages; quoted texts are escaped exactly once."""

import pytest

from tokverify.text.visible import visible_message
from tokverify.text.wording import (
    encode_options,
    find_similar_names,
    list_alternatives,
    list_items,
    list_tokens,
    plural,
    quote,
    truncate_words,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", '"a b"'),
        ("a\\b\n\x1b·", '"a\\\\b↵\\x1b\\u00b7"'),
        ("x" * 61, f'"{"x" * 60}…" (61 characters)'),
        ("\n" * 60, f'"{"↵" * 60}"'),
        ("", '""'),
    ],
)
def test_quoted(text, shown):
    assert quote(text) == shown == visible_message(quote(text))


def test_lists():
    assert list_items("abcde") == "a, b, c, d, e"
    assert list_items("abcdefg", 2) == "a, b and 5 more"
    assert list_tokens([1, 0, 2], ["<s>", "\x00", "  "]) == '1 "\\x00", 0 "<s>", 2 "··"'


@pytest.mark.parametrize(("items", "shown"), [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b, or c")])
def test_alternatives(items, shown):
    assert list_alternatives(items) == shown


def test_similar_names_are_found_regardless_of_case_and_separators():
    assert find_similar_names("GPT2.typo", ["default", "gpt-4o", "gpt-2"]) == ["gpt-2", "gpt-4o"]
    assert find_similar_names("other", ["gpt-2"]) == []


def test_options():
    assert encode_options(add_special=False, parse_special=True) == "add_special off, parse_special on"


@pytest.mark.parametrize(
    ("actual", "shown"),
    [
        (plural(0, "case"), "0 cases"),
        (plural(1, "entry", "entries"), "1 entry"),
        (plural(1234, "entry", "entries"), "1,234 entries"),
    ],
)
def test_counts(actual, shown):
    assert actual == shown


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [("one two", "one two"), ("one two three", "one two …"), ("onetwothree", "onetwoth …")],
)
def test_a_sentence_is_truncated_after_a_word(sentence, shown):
    assert truncate_words(sentence, 8) == shown
