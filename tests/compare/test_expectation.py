import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.expectation import agrees, expect_of, expect_side, expected_tokens
from tokverify.report.difference import NO_TOKEN
from tokverify.report.side import Side
from tokverify.tokenizer import Token

SIDE = Side("gemma-3", "gemma-3.gguf", aliases=("Gemma 3",), family="llama", fingerprint="0123456789abcdef")
TOKENIZER = FakeTokenizer("a", "b", "▁ab", "+", "+")


def case(**expect) -> Case:
    return Case(id="a", suite="suite", text="x", expect=expect)


@pytest.mark.parametrize("key", ["gemma-3", "Gemma 3", "llama", "01234567", "0123456789ABCDEF"])
def test_a_side_is_named_by_its_name_its_fingerprint_or_its_family(key):
    assert expect_of(case(**{"other": (1,), key: (2,)}), SIDE) == (2,)


@pytest.mark.parametrize("key", ["gemma", "GEMMA-3", "Llama", "0123456", "12345678"])
def test_other_keys_do_not_match_the_tokenizer(key):
    assert expect_of(case(**{key: (2,)}), SIDE) is None


def test_the_closest_key_counts():
    keys = {"llama": ("l",), "gemma-3": ("g",), "01234567": ("f",)}
    assert expect_of(case(**keys), SIDE) == ("f",)
    del keys["01234567"]
    assert expect_of(case(**keys), SIDE) == ("g",)


def test_a_side_without_family_or_fingerprint_has_its_name_only():
    assert expect_of(case(llama=(1,), **{"01234567": (2,)}), Side("tokenizers", "ref")) is None


@pytest.mark.parametrize(
    ("expect", "agreed"),
    [((2, 0), True), (("▁ab", "a"), True), ((2,), False), (("▁ab",), False), ((), False), (("ab", "a"), False)],
)
def test_ids_and_pieces_are_compared(expect, agreed):
    assert agrees(expect, TOKENIZER, (2, 0)) is agreed


def test_no_tokens_are_no_tokens_either_way():
    assert agrees((), TOKENIZER, ())


def test_tokens_with_the_same_piece_are_equivalent():
    assert agrees(("+",), TOKENIZER, (3,))
    assert agrees(("+",), TOKENIZER, (4,))
    assert [token.id for token in expected_tokens(("+", "a"), TOKENIZER, (4, 4))] == [4, 0]


def test_the_expectation_for_the_tokenizer_is_selected():
    assert expected_tokens((2, 99), TOKENIZER, ()) == [Token(2, "▁ab", b" ab"), Token(99, "", b"")]
    assert expected_tokens(("▁ab", "zz"), TOKENIZER, (0,)) == [Token(2, "▁ab", b" ab"), Token(NO_TOKEN, "zz", b"")]


def test_each_suite_is_named_once():
    cases = [Case(id=id, suite="s", text="x", file=file) for id, file in (("a", "one.yaml"), ("b", "one.yaml"))]
    assert expect_side(cases).source == "as in one.yaml"
    assert expect_side(cases).reason == "as requested"
    assert "every case has an `expect` for gemma-3" in expect_side(cases, SIDE).reason
