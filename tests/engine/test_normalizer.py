import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.normalizer import escape_spaces, unescape_spaces


def test_spaces_are_written_as_lower_one_eighth_blocks():
    assert escape_spaces(" a  b ") == "▁a▁▁b▁"
    assert unescape_spaces("▁a▁▁b▁") == " a  b "


@pytest.mark.parametrize("text", ["", "\t", "\n", "\u00a0", "\u3000", "_", "a"])
def test_nothing_but_the_space_is_touched(text: str):
    assert escape_spaces(text) == text
    assert unescape_spaces(text) == text


@given(st.text())
def test_escaping_can_be_undone_where_the_text_has_no_blocks(text: str):
    assert unescape_spaces(escape_spaces(text)) == text.replace("▁", " ")
