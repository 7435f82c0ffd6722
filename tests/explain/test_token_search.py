"""Finding tokens: by id, by range, by pattern."""

from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, bpe_spec
from tokverify.errors import TokverifyError
from tokverify.explain.inspection import find_tokens
from tokverify.report.inspect import TokenDetails

SPEC = bpe_spec(["a b"], {"[/INST]": CONTROL, "*": 1})


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        ("5", [5]),
        ("5,3-4", [3, 4, 5]),
        ("256-", [256, 257]),
        ("250-9999", list(range(250, 258))),
        (" 1 , 2", [1, 2]),
        ("a*", [97, 256]),
        ("[/INST]", [257]),
        ("*", [42]),
        ("?b", [256]),
    ],
)
def test_ids_of_a_selection(selection, ids):
    assert [token.id for token in find_tokens(SPEC, selection)] == ids


@pytest.mark.parametrize("selection", ["999", "-", "", "3-2", "no such token", ","])
def test_a_selection_without_a_match_is_an_error(selection):
    with pytest.raises(TokverifyError):
        find_tokens(SPEC, selection)


def test_all_details_of_a_token():
    [token] = find_tokens(SPEC, "ab")
    assert token == TokenDetails(256, "ab", b"ab", "NORMAL", "NORMAL", None)
    scored = replace(SPEC, scores=[1.5] * 258)
    assert find_tokens(scored, "32")[0] == TokenDetails(32, "Ġ", b" ", "NORMAL", "NORMAL", 1.5)


def test_details_of_a_refused_tokenizer():
    [token] = find_tokens(replace(SPEC, pre="unknown", types=None), "ab")
    assert token == TokenDetails(256, "ab", None, None, None, None)
