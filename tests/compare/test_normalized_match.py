"""A token with `normalized` is named only if the normalizer is why llama.cpp does not find it."""

from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added, bpe_document, verify, write_json
from support.spec_maker import CONTROL, bpe_spec
from tokverify.report.finding import ERROR
from tokverify.spec import TokenType

BASE = bpe_spec(["a b"], {"<turn>": CONTROL})
TURN = BASE.tokens.index("<turn>")


def messages(tmp_path: Path, type: int, normalizer: object, *, single_word: bool = False) -> dict[str, object]:
    """Return what a comparison says of a model with this type of the token, by message."""
    listed = added(TURN, "<turn>", normalized=True, single_word=single_word)
    path = write_json(tmp_path / "tokenizer.json", {**bpe_document(BASE, [listed]), "normalizer": normalizer})
    model = replace(BASE, types=[*(BASE.types or ())[:TURN], type])
    return {each.message: each.severity for each in verify(model, path, ("ab",)).differences}


CAPITALS = {"type": "Replace", "pattern": {"String": "<TURN>"}, "content": "<turn>"}


def test_another_form_is_named(tmp_path: Path):
    (found,) = (each for each in messages(tmp_path, CONTROL, CAPITALS) if "normalized in the reference" in each)
    assert 'finds "<turn>" in "<TURN>", and llama.cpp does not' in found


@pytest.mark.parametrize("normalizer", [CAPITALS, {"type": "NFC"}])
def test_an_ordinary_token_is_no_matter_of_its_normalizer(tmp_path: Path, normalizer: object):
    found = messages(tmp_path, TokenType.NORMAL, normalizer)
    assert not [each for each in found if "normalized in the reference" in each]
    assert [severity for each, severity in found.items() if "is an ordinary token in the model" in each] == [ERROR]


def test_a_token_that_is_found_only_after_a_space_is_named(tmp_path: Path):
    """As one that is added to Llama 2, whose normalizer puts a space before it."""
    (found,) = (
        each for each in messages(tmp_path, CONTROL, {"type": "Prepend", "prepend": "▁"}) if "normalized" in each
    )
    assert 'the reference does not find "<turn>" in ".<turn>", and llama.cpp does' in found


def test_a_token_that_must_be_a_word_is_no_matter_of_its_normalizer(tmp_path: Path):
    found = messages(tmp_path, CONTROL, {"type": "NFC"}, single_word=True)
    assert not [each for each in found if "normalized in the reference" in each]
