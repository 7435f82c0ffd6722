"""Tell a reference of another model from one whose tokens a fault has changed."""

import random
from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from support.mutation import respelled, tokens
from support.mutation_trial import intact
from tokverify.engine.encoder import Encoder
from tokverify.repair.diagnosis import Facts
from tokverify.repair.other_model import is_of_other_model
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenizerSpec


def made(name: str) -> TokenizerSpec:
    return read_spec(intact(name))


def shuffled(old: list[str]) -> list[str]:
    return random.Random(1).sample(old, len(old))  # noqa: S311 - an order, not a secret


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("made-wordpiece", "made-bpe", True),
        ("made-bpe", "made-plamo", True),
        ("made-wordpiece", "made-wordpiece", False),
        ("made-spm", "made-gemma4", False),
    ],
)
def test_a_reference_of_another_model_has_other_tokens(ours: str, theirs: str, expected: bool):
    assert is_of_other_model(made(ours), Facts(Encoder(made(theirs)))) is expected


def test_bytes_alone_do_not_show_that_a_reference_belongs_to_another_model():
    assert not is_of_other_model(made("made-bpe"), Facts(Bare(Encoder(made("made-wordpiece")))))


@pytest.mark.parametrize("fault", [tokens(shuffled), respelled(str.upper), respelled("Ġ{}".format)])
def test_a_fault_that_changes_all_tokens_does_not_make_another_model(fault):
    right = made("made-bpe")
    assert not is_of_other_model(fault(right), Facts(Encoder(right)))


def test_a_token_inserted_at_the_beginning_does_not_make_another_model():
    right = made("made-unigram")
    wrong = replace(right, tokens=["<new>", *right.tokens])
    assert not is_of_other_model(wrong, Facts(Encoder(right)))


def test_real_vocabularies_of_similar_models_are_told_apart(spec_of):
    assert is_of_other_model(spec_of("mpt"), Facts(Encoder(spec_of("gpt-2"))))
    assert not is_of_other_model(spec_of("gemma-3"), Facts(Encoder(spec_of("gemma-4"))))
