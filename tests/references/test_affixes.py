"""What a server adds around every text, found by its encoding of the empty text."""

from collections.abc import Iterator

import pytest

from support.paths import SAMPLE
from support.server_stand_ins import LaterSglangStandIn, LlamaCppPythonStandIn
from support.stand_in import StandIn
from tokverify.errors import EncodeError
from tokverify.files.load import load_gguf
from tokverify.references import open_reference
from tokverify.references.servers.affixes import Affixes, find_affixes
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
        assert isinstance(affixes.strip(ids), EncodeError)
    assert Affixes([1], [1]).strip([1, 1]) == []
    assert isinstance(Affixes([1], [1]).strip([1]), EncodeError)


def test_a_text_without_what_is_added_to_others_is_an_error_of_that_text(server):
    stand_in, tokenizer = server
    ids = stand_in.ids
    stand_in.ids = lambda text, add_special: ids(text, add_special=add_special)[text == "bare" :]
    bare, whole = tokenizer.encode_many(["bare", "fox"], add_special=False, parse_special=True)
    assert isinstance(bare, EncodeError)
    assert whole == ENCODER.encode("fox")


def test_a_server_that_does_not_encode_the_empty_text_fails_only_without_add_special(server):
    stand_in, tokenizer = server
    ids = stand_in.ids
    stand_in.ids = lambda text, add_special: ids(text, add_special=add_special) if text else [-1]
    results = tokenizer.encode_many(["fox", "a"], add_special=False, parse_special=True)
    assert {str(result) for result in results} == {
        f"{stand_in.address}: the server does not encode the texts '' and 'a'"
    }
    assert tokenizer.encode("fox", add_special=True, parse_special=True) == ENCODER.encode("fox", add_special=True)
    stand_in.ids = ids
    assert tokenizer.encode("fox", add_special=False, parse_special=True) == ENCODER.encode("fox")
