"""What a server adds around every text, found by its encoding of the empty text."""

from collections.abc import Iterator

import pytest

from support.paths import SAMPLE
from support.server_stand_ins import LaterSglangStandIn, LlamaCppPythonStandIn
from support.stand_in import StandIn
from tokverify.errors import EncodeError
from tokverify.references import open_reference
from tokverify.references.servers.http_tokenizer import Affixes, find_affixes
from tokverify.sources.load import load_gguf
from tokverify.tokenizer import Tokenizer

ADDING = {"sglang": LaterSglangStandIn, "llama-cpp-python": LlamaCppPythonStandIn}
ENCODER = load_gguf(SAMPLE / "sample.gguf")


@pytest.fixture(params=ADDING)
def server(request) -> Iterator[tuple[StandIn, Tokenizer]]:
    """A server that adds ids around every text, and its tokenizer."""
    with ADDING[request.param](ENCODER) as stand_in:
        yield stand_in, open_reference(f"{request.param}+{stand_in.address}").tokenizer


@pytest.mark.parametrize(
    ("empty", "text", "expected"),
    [
        ([], [7], Affixes([], [])),
        ([1], [1, 7], Affixes([1], [])),
        ([2], [7, 2], Affixes([], [2])),
        ([1, 2], [1, 7, 2], Affixes([1], [2])),
        ([1, 5], [1, 7], Affixes([1], [])),
        ([1, 5, 2], [1, 7, 2], Affixes([1], [2])),
        ([1, 1], [1, 7, 1], Affixes([1], [1])),
    ],
)
def test_affixes_are_what_the_empty_text_has_in_common_with_another(empty, text, expected):
    assert find_affixes(empty, text) == expected


def test_affixes_are_removed_only_where_they_are():
    affixes = Affixes([1], [2])
    assert affixes.strip([1, 7, 8, 2]) == [7, 8]
    assert affixes.strip([1, 2]) == []
    for ids in ([], [1], [2], [7, 8], [1, 7], [7, 2]):
        assert affixes.strip(ids) is None
    assert Affixes([1], [1]).strip([1, 1]) == []
    assert Affixes([1], [1]).strip([1]) is None


def test_a_text_without_what_is_added_to_others_is_an_error_of_that_text(server):
    stand_in, tokenizer = server
    ids = stand_in.ids
    stand_in.ids = lambda text, add_special: ids(text, add_special=add_special)[text == "bare" :]
    bare, whole = tokenizer.encode_many(["bare", "fox"], add_special=False, parse_special=True)
    assert str(bare) == f"{stand_in.address}: the server did not add to this text what it adds to others"
    assert whole == ENCODER.encode("fox")


def test_a_server_that_does_not_encode_the_empty_text_fails_only_without_add_special(server):
    stand_in, tokenizer = server
    ids = stand_in.ids
    stand_in.ids = lambda text, add_special: ids(text, add_special=add_special) if text else [-1]
    results = tokenizer.encode_many(["fox", "a"], add_special=False, parse_special=True)
    problem = "what the server adds around every text is not known, because it does not encode ''"
    assert len(set(map(str, results))) == 1
    assert str(results[0]).startswith(f"{stand_in.address}: {problem} (")
    assert tokenizer.encode("fox", add_special=True, parse_special=True) == ENCODER.encode("fox", add_special=True)
    stand_in.ids = ids
    assert tokenizer.encode("fox", add_special=False, parse_special=True) == ENCODER.encode("fox")


def test_what_a_server_adds_is_not_looked_for_with_each_text_if_it_cannot_be_found(server):
    stand_in, tokenizer = server
    ids = stand_in.ids
    stand_in.ids = lambda text, add_special: ids(text, add_special=add_special) if text else [-1]
    texts = [f"text {number}" for number in range(20)]
    for text in texts:
        with pytest.raises(EncodeError, match="is not known"):
            tokenizer.encode(text, add_special=False, parse_special=True)
    counts = []
    for text in texts:
        before = len(stand_in.requests)
        with pytest.raises(EncodeError, match="is not known"):
            tokenizer.encode(text, add_special=False, parse_special=True)
        counts.append(len(stand_in.requests) - before)
    assert counts == [1] * len(texts)


def test_without_what_the_server_adds_ids_are_not_decoded_by_a_server_that_needs_it():
    with LlamaCppPythonStandIn(ENCODER) as stand_in:
        tokenizer = open_reference(f"llama-cpp-python+{stand_in.address}").tokenizer
        stand_in.answers["/extras/tokenize"] = (500, {"error": "no"})
        one, two = tokenizer.decode_many([[5], [6]])
    assert isinstance(one, EncodeError)
    assert str(one) == str(two)
    assert str(one).endswith("because it does not encode '' (/extras/tokenize: HTTP 500: no)")
