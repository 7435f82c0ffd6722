"""Which changes share the model of the unchanged tokenizer, and so cost next to nothing to try."""

from dataclasses import replace

import pytest

from support.spec_maker import CONTROL, bpe_spec
from tokverify.engine.encoder import Encoder
from tokverify.repair.change import TokenizerChange, shares_model
from tokverify.spec import TokenizerSpec

SPEC = bpe_spec(["a b", "ab c", "1 2"], {"<x>": CONTROL})
SHARING = [replace(SPEC, pre="llama-bpe"), replace(SPEC, add_bos=False), replace(SPEC, types=list(SPEC.types))]
REBUILDING = [replace(SPEC, merges=SPEC.merges[::-1]), replace(SPEC, tokens=list(SPEC.tokens))]


@pytest.mark.parametrize(
    ("changed", "shares"), [*((spec, True) for spec in SHARING), *((spec, False) for spec in REBUILDING)]
)
def test_only_changed_tables_require_another_model(changed: TokenizerSpec, shares: bool):
    base = Encoder(SPEC)
    change = TokenizerChange(kind="test", sentence="a change", cost=1.0, transform=lambda _: changed)
    encoder = change.encoder(SPEC, base)
    assert shares_model(base, encoder.spec, encoder.settings) is shares
    assert encoder.encode("abc 12") == Encoder(changed).encode("abc 12")
