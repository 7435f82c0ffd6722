"""Messages are wrapped at the width of a terminal."""

import pytest

from tokverify.render.wrapping import wrap


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("short", "short"),
        ("", ""),
        ("one two three four", "one two three\nfour"),
        ("error: one two three", "error: one two\n       three"),
        ("  - one two three four", "  - one two\n    three four"),
        ("written   one two three", "written   one\n          two\n          three"),
        ("/a/long/path/without/spaces", "/a/long/path/without/spaces"),
        ("see /a/long/path/x.json now", "see\n/a/long/path/x.json\nnow"),
        ("$ a command is never broken", "$ a command is never broken"),
        ("one two\nthree four five six\n", "one two\nthree four five\nsix\n"),
        ("日本語の 長い文章です", "日本語の\n長い文章です"),
    ],
)
def test_lines_are_broken_between_words(text: str, wrapped: str):
    assert wrap(text, 15) == wrapped
