"""Strings that are decoded when they are needed."""

import pickle

import pytest

from tokverify.engine.engine_choice import ENGINES, VARIABLE
from tokverify.engine.joined_strings import JoinedStrings, find_containing, find_differing, join


@pytest.fixture(params=[engine for engine in ENGINES if engine != "auto"])
def engine(request, monkeypatch) -> str:
    if request.param == "native":
        pytest.importorskip("tokverify._native")
    monkeypatch.setenv(VARIABLE, request.param)
    return request.param


def make(strings: list[str]) -> JoinedStrings:
    return JoinedStrings("\0".join(strings).encode("utf-8", "surrogateescape"), len(strings))


@pytest.mark.parametrize("strings", [[], [""], ["", ""], ["a", "é", ""], ["\udcff", "b"]])
def test_joined_strings_are_a_sequence_of_the_strings(strings: list[str]):
    joined = make(strings)
    assert len(joined) == len(strings)
    assert list(joined) == strings
    assert (joined == strings, strings == joined, joined == tuple(strings)) == (True, True, True)
    assert joined != [*strings, "a"]
    assert joined[:1] == strings[:1]
    assert join(joined) == join(strings)


def test_joined_strings_are_not_equal_to_a_text():
    assert JoinedStrings(b"a", 1) != "a"
    assert JoinedStrings(b"", 0) != b""


def test_joined_strings_are_compared_without_decoding_them():
    assert JoinedStrings(b"a\0b", 2) == JoinedStrings(b"a\0b", 2)
    assert JoinedStrings(b"", 0) != JoinedStrings(b"", 1)


def test_single_strings_and_short_slices_are_those_of_a_list(engine):
    strings = [f"é{number}" for number in range(20)] + ["", "\udcff"]
    for index in (0, 3, 21, -1, -22, slice(0, 1), slice(20, None), slice(-2, None), slice(5, 1, -3), slice(0, 22)):
        assert make(strings)[index] == strings[index]
    for index in (22, -23):
        with pytest.raises(IndexError):
            make(strings)[index]


def test_strings_are_found_like_those_of_a_list(engine):
    joined = make(["a", "b", "a"])
    assert (joined.index("a"), joined.index("a", 1), "b" in joined, "c" in joined) == (0, 2, True, False)
    with pytest.raises(ValueError, match="not in list"):
        joined.index("c")


@pytest.mark.parametrize(
    ("strings", "has_empty"), [([], False), ([""], True), (["a"], False), (["a", ""], True), (["", "a"], True)]
)
def test_empty_strings_are_noticed(strings: list[str], has_empty: bool):
    assert make(strings).has_empty == has_empty


def test_strings_can_be_sent_to_another_process(engine):
    joined = make(["a", "b"])
    assert joined[1] == "b"
    assert pickle.loads(pickle.dumps(joined)) == joined  # noqa: S301 - made above


@pytest.mark.parametrize(
    ("left", "right", "differing"),
    [
        ([], [], []),
        (["a"], ["a"], []),
        (["a", "b", "c"], ["a", "x", "c", "d", ""], [1, 3, 4]),
        ([], ["a", "b"], [0, 1]),
        ([""], [], [0]),
        (["ab"], ["a", "b"], [0, 1]),
    ],
)
def test_differing_strings_are_found(engine, left: list[str], right: list[str], differing: list[int]):
    assert find_differing(make(left), make(right)) == differing
    assert find_differing(make(right), make(left)) == differing


@pytest.mark.parametrize(
    ("strings", "character", "containing"),
    [
        ([], "\n", []),
        (["", ""], "\n", []),
        (["\n", "a", "b\n\nc\n", "", "\n"], "\n", [0, 2, 4]),
        (["a", "é", "è", "aé"], "é", [1, 3]),
        (["a", "", "b"], "\0", []),
    ],
)
def test_strings_that_contain_a_character_are_found_with_and_without_decoding(strings, character, containing):
    assert find_containing(strings, character) == containing
    assert find_containing(make(strings), character) == containing


def test_some_strings_are_selected_in_the_given_order():
    strings = make(["a", "", "ä", "b"])
    assert strings.select([3, 1, 2, 3]) == ["b", "", "ä", "b"]
    assert strings.select([]) == []
    assert make(["", "a"]).select([0]) == [""]
    with pytest.raises(IndexError):
        strings.select([1, 4])


def test_joined_strings_are_the_same_as_the_list_that_they_were_made_of():
    strings = ["a", "\udcff", "▁b", "c d"]
    joined = JoinedStrings.of(strings)
    assert joined == strings == joined.strings
    assert JoinedStrings(joined.joined, len(joined)).strings == strings
    with pytest.raises(UnicodeEncodeError):
        JoinedStrings.of(["\ud83d"])
