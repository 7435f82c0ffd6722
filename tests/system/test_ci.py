"""Texts that the runner of GitHub Actions executes as commands, and others."""

import json

import pytest

from tokverify.system.ci import escape_commands


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", r"\u003a:error::x"),
        ("a\n \t\u3000::error::x\n", "a\n \t\u3000\\u003a:error::x\n"),
        ("a\r::error::x", "a\r\\u003a:error::x"),
        ("\n\n::a\n::b", "\n\n\\u003a:a\n\\u003a:b"),
        (":::", r"\u003a::"),
        ("a ##[error]x ##[b]", r"a #\u0023[error]x #\u0023[b]"),
        ("###[x", r"##\u0023[x"),
        ("a::b : :: # #[ ##\n:a::", "a::b : :: # #[ ##\n:a::"),
    ],
)
def test_commands_are_escaped_and_nothing_else(text: str, shown: str):
    assert escape_commands(text) == shown


def test_json_decodes_to_the_same_value():
    value = {"::a::": ["##[error]x", "\\##[", "\n::b"]}
    for indent in (None, 2):
        shown = escape_commands(json.dumps(value, indent=indent))
        assert "##[" not in shown
        assert json.loads(shown) == value


def test_long_runs_of_spaces_are_fast():
    text = "\n \t" * 200_000 + "::"
    assert escape_commands(text).endswith(r"\u003a:")
