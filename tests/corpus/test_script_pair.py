import pytest

from tokverify.corpus.coverage import ScriptPairs, find_script_pairs
from tokverify.engine.engine_choice import VARIABLE

TEXTS = ["plain ASCII", "", "漢字 and Latin", "é漢a!б", "xアx", "aбaб", "\U0001f600漢", "ελ漢" * 50, "߀ا", "ᏣᎳ漢"]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("plain ASCII", set()),
        ("漢字", set()),
        ("a漢b", {"Latin Han", "Han Latin"}),
        ("aб漢", {"Latin Cyrillic", "Cyrillic Han"}),
        ("a 漢", set()),
    ],
)
def test_neighboring_letters_of_different_scripts_are_pairs(text: str, pairs: set[str]):
    assert find_script_pairs(text) == pairs


@pytest.fixture(params=["auto", "python"])
def collected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ScriptPairs:
    monkeypatch.setenv(VARIABLE, request.param)
    return ScriptPairs()


def test_the_pairs_of_many_texts_are_those_of_each(collected: ScriptPairs):
    assert collected.add(TEXTS)
    assert collected.pairs() == set().union(*map(find_script_pairs, TEXTS))
    assert len(collected.pairs()) > 8


def test_new_pairs_are_noticed(collected: ScriptPairs):
    added = [collected.add([text]) for text in ("aé", "xア漢", "ア漢", "漢ア", "漢ア", "a ア", "aア", "бア")]
    assert added == [False, True, False, True, False, False, False, True]


def test_letters_of_different_texts_are_not_neighbors(collected: ScriptPairs):
    assert not collected.add(["a", "漢", "б"])
    assert collected.pairs() == set()
