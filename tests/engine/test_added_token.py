import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokverify.engine.added_token import Fragment, _scanner, locate, selector, split_longest_first, splitter
from tokverify.engine.added_token_overlap import can_overlap
from tokverify.spec import AddedToken
from tokverify.text.utf8 import to_bytes


def added(*texts: str, lstrip: str = "", rstrip: str = "") -> list[AddedToken]:
    """Return added tokens whose ids are their positions in `texts`, in the order that the module expects."""
    tokens = [AddedToken(id, text, False, text == lstrip, text == rstrip) for id, text in enumerate(texts)]
    return sorted(tokens, key=lambda token: -len(token.text.encode("utf-8", "surrogateescape")))


def split_literally(text: str, tokens: list[AddedToken]) -> list[Fragment]:
    """The algorithm as its definition has it: the longest token that occurs cuts the text first, wherever it is."""
    for token in tokens:
        left, found, right = text.partition(token.text)
        if found:
            left = left.rstrip(" \t\n\v\f\r") if token.lstrip else left
            right = right.lstrip(" \t\n\v\f\r") if token.rstrip else right
            return [*split_literally(left, tokens), token.id, *split_literally(right, tokens)]
    return [text] if text else []


@pytest.mark.parametrize(
    ("texts", "text", "fragments"),
    [
        ([], "", []),
        ([], "ab", ["ab"]),
        (["<s>"], "", []),
        (["<s>"], "a", ["a"]),
        (["<s>"], "<s>", [0]),
        (["<s>"], "a<s><s>b", ["a", 0, 0, "b"]),
        (["<s>"], "<s", ["<s"]),
        (["<s>", "<s>x"], "<s>x<s>", [1, 0]),
        (["  ", "   ", "    "], "a     b", ["a", 2, " b"]),
        (["\n", "\n\n", "\n\n\n"], "\n" * 7, [2, 2, 0]),
        (["a.b", "[x]", "(", "|", "\\", "^$", "a-z"], "axb[x](|\\^$a-z", ["axb", 1, 2, 3, 4, 5, 6]),
        (["\0"], "a\0b", ["a", 0, "b"]),
        (["▁"], " ▁", [" ", 0]),
    ],
)
def test_the_text_is_split_at_each_token(texts: list[str], text: str, fragments: list[Fragment]):
    assert splitter(added(*texts))(text) == fragments


def test_a_longer_token_wins_though_it_begins_later():
    # From left to right it would be `ab`, and then `cd` as text.
    assert splitter(added("ab", "bcd"))("abcd") == ["a", 1]
    assert split_longest_first("abcd", added("ab", "bcd")) == ["a", 1]
    assert _scanner(added("ab", "bcd"))("abcd") == [0, "cd"]


def test_length_is_in_bytes():
    # `é` is two bytes long, so `bé` comes before `ab`, but after `abc`.
    assert splitter(added("ab", "bé"))("abé") == ["a", 1]
    assert splitter(added("abcd", "dé"))("abcdé") == [0, "é"]


def test_the_lower_id_comes_first_if_lengths_are_equal():
    assert splitter(added("ab", "bc"))("abc") == [0, "c"]
    assert splitter(added("bc", "ab"))("abc") == ["a", 0]


def test_a_match_includes_the_whitespace_around_it():
    text = "a \t<m>\n\u00a0b \v\f\r<m>  "
    assert splitter(added("<m>", lstrip="<m>"))(text) == ["a", 0, "\n\u00a0b", 0, "  "]
    assert splitter(added("<m>", rstrip="<m>"))(text) == ["a \t", 0, "\u00a0b \v\f\r", 0]
    assert splitter(added("<m>", lstrip="<m>", rstrip="<m>"))("  <m> <m> ") == [0, 0]


def test_included_whitespace_is_not_available_to_other_tokens():
    assert splitter(added(" ", "<m>", rstrip="<m>"))("<m>  a b") == [1, "a", 0, "b"]
    assert splitter(added("  ", "<m>", rstrip="<m>"))("<m>    a") == [1, "a"]
    # A longer token takes its part of the whitespace first.
    assert splitter(added("     ", "<m>", rstrip="<m>"))("<m>      a") == [1, 0, " a"]
    assert splitter(added(" <m>", rstrip=" <m>"))(" <m>  <m>") == [0, "<m>"]


def test_very_long_tokens_and_ladders_of_them_are_matched():
    ladder = added(*(" " * length for length in range(1, 400)))
    assert splitter(ladder)(" " * 1000 + "a") == [398, 398, 201, "a"]
    assert splitter(added("ab" * 5000))("ab" * 10_001) == [0, 0, "ab"]


@pytest.mark.parametrize(
    ("texts", "text", "fragments"),
    [
        (["\udcc3"], "aé", ["a", 0, "\udca9"]),
        (["\udca9"], "éa", ["\udcc3", 0, "a"]),
        (["\udc82"], "€", ["\udce2", 0, "\udcac"]),
        (["\udcc3", "a"], "ba", ["b", 1]),
        (["\udcc3", "é"], "é\u00e8", [1, 0, "\udca8"]),
        (["\udc82", "a\udce2", "\udcacb"], "a€b", [1, 0, 2]),
    ],
)
def test_a_token_that_is_part_of_a_character_leaves_the_other_bytes(
    texts: list[str], text: str, fragments: list[Fragment]
):
    split = splitter(added(*texts))
    assert split(text) == fragments
    located = locate(text.encode(), split(text), dict(enumerate(texts)))
    spelled = [texts[fragment] if isinstance(fragment, int) else fragment for fragment in fragments]
    assert [text.encode()[start:end] for _, start, end in located] == list(map(to_bytes, spelled))


def test_a_token_that_strips_whitespace_includes_it():
    assert splitter(added("\udcc3", lstrip="\udcc3", rstrip="\udcc3"))("a é b") == ["a", 0, "\udca9 b"]


token_texts = st.lists(st.text("ab é", min_size=1, max_size=5), min_size=1, max_size=6, unique=True)
texts = st.text("ab é", max_size=30)


@given(token_texts, texts)
def test_the_result_is_that_of_the_literal_algorithm(tokens: list[str], text: str):
    assert splitter(added(*tokens))(text) == split_literally(text, added(*tokens))


@given(token_texts, texts, st.data())
def test_splitting_with_whitespace_stripping_equals_the_literal_algorithm(
    tokens: list[str], text: str, data: st.DataObject
):
    stripping = [
        dataclasses.replace(token, lstrip=data.draw(st.booleans()), rstrip=data.draw(st.booleans()))
        for token in added(*tokens)
    ]
    assert splitter(stripping)(text) == split_literally(text, stripping)


def test_many_overlapping_tokens_are_split_like_few():
    fillers = [f"filler{number}" for number in range(100)]
    few, many = added("ab", "bcd", "é"), added("ab", "bcd", "é", *fillers)
    for text in ("abcd", "éabcdé filler99 filler", "", "filler9filler10"):
        assert splitter(many)(text) == split_literally(text, many)
    assert splitter(few)("abcdé") == splitter(many)("abcdé")


CROWD = added(*(f"<a{number}>" for number in range(100)), *(f"<a{number}b>" for number in range(9)), "<", "aa")


@given(st.text("<a>b019", max_size=12))
def test_all_tokens_that_occur_are_selected_of_a_crowd_that_begins_alike(text: str):
    selected = selector(CROWD)(text)
    assert [token for token in selected if token.text in text] == [token for token in CROWD if token.text in text]


@given(token_texts, texts)
def test_the_scanner_differs_only_where_tokens_can_overlap(tokens: list[str], text: str):
    if _scanner(added(*tokens))(text) != split_longest_first(text, added(*tokens)):
        assert can_overlap(tuple(tokens))


@pytest.mark.parametrize("name", ["llama-spm", "gpt-2", "mpt", "qwen2", "gemma-3", "gemma-4"])
def test_the_scanner_is_used_for_real_vocabularies(encoder_of, name: str):
    tokens = encoder_of(name).settings.added_tokens
    assert not can_overlap(tuple(token.text for token in tokens))
    text = "".join(f"{token.text}{' ' * (index % 3)}x" for index, token in enumerate(tokens))
    assert splitter(tokens)(text) == split_longest_first(text, tokens)
