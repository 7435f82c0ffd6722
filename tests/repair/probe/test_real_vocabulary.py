"""Find the types of real vocabularies from ids alone."""

from dataclasses import replace

import pytest

from support.bare_tokenizer import Bare
from tokverify.repair.probe import probe_tokens
from tokverify.spec import TokenType

QUICK = ("bert-bge", "llama-spm", "t5", "xlnet")
SLOW = ("gpt-2", "mpt", "qwen2", "nomic-bert-moe", "gemma-3", "gemma-4")


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_all_types_are_recovered(name, spec_of, encoder_of):
    spec, encoder = spec_of(name), encoder_of(name)
    guess = replace(spec, types=[TokenType.NORMAL.value] * len(spec.tokens))
    probed = probe_tokens(Bare(encoder), guess)
    expected = {token.id: token.special for token in encoder.settings.added_tokens}
    assert {token.id: token.special for token in probed.added_tokens.values()} == expected
    declared = {id for id, type in enumerate(spec.types) if type == TokenType.BYTE}
    assert probed.byte_ids.keys() == declared
    # A few texts for each hundred tokens.
    assert probed.encodings < 600 + len(spec.tokens) / 50
