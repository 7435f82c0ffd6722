"""The native engine supports everything that the Python engine's tables name, and shares tables between encoders."""

from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, bpe_spec
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.engine.pre_search import PROBES
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS

ENDS = [start + end for start in ("", "a", "é", "日", "1", " ", "a ") for end in ("é", "։", "日", "🦙", "\u0301")]
"""Texts that end with each size of character."""
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "1 2", "12 3", "Ċ Ċ", "Ġ Ġ"]


def results(encoder: Encoder) -> list[str]:
    """Return the ids of each probe, or the error."""
    return list(map(str, encoder.encode_many([*PROBES, *ENDS], add_special=False, parse_special=True)))


@pytest.mark.parametrize("pre", PRE_TOKENIZERS)
def test_every_pre_tokenizer_is_native_and_gives_the_same_ids(engine, pre):
    encoder = Encoder(replace(bpe_spec(MERGES), pre=pre))
    assert encoder.engine.name == engine
    python = Encoder(encoder.spec, model=encoder.model)
    assert results(encoder) == results(python)


@pytest.mark.parametrize(
    "change",
    [
        {"pre": "llama-bpe"},
        {"merges": ["h e", "e l"]},
        {"types": [CONTROL] * 3 + [1] * 400},
        {"pre": "gemma4"},
        {"tokens": [f"<{number}>" for number in range(403)]},
    ],
)
def test_an_encoder_based_on_another_one_equals_one_built_alone(change):
    spec = bpe_spec(MERGES)
    base = Encoder(spec)
    size = len(spec.tokens)
    change = {name: value[:size] if name in {"types", "tokens"} else value for name, value in change.items()}
    changed = replace(spec, **change)
    shared, alone = Encoder(changed, base=base), Encoder(changed)
    assert results(shared) == results(alone)
    assert results(base) == results(Encoder(spec))


def test_a_tokenizer_that_is_not_native_says_why(engine):
    spec = replace(bpe_spec(MERGES), model="cpp-hybrid", pre=None)
    encoder = Encoder(spec)
    if engine == NATIVE:
        assert encoder.engine.reason == "the native engine does not support this tokenizer family"
    assert encoder.engine.name != NATIVE
