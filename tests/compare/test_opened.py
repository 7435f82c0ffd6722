"""What a reference declares, and what its ids reveal."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import CONTROL, USER_DEFINED, spm_spec
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.errors import GoneError, TokverifyError
from tokverify.repair.probed_type_change import probing_of
from tokverify.spec import TokenType

SPM = spm_spec({"▁": -5, "a": -1, "<x>": 0, "<y>": 0}, {"<x>": CONTROL, "<y>": USER_DEFINED})


def test_a_reference_that_lists_types_is_asked_for_them():
    facts = Opened(Encoder(SPM))
    assert list(facts.types) == list(SPM.types)
    assert {token.text: token.special for token in facts.added_tokens.values()} == {
        "<unk>": True,
        "<s>": True,
        "</s>": True,
        "<x>": True,
        "<y>": False,
    }


def test_the_types_of_a_reference_without_any_are_probed():
    facts = Opened(Bare(Encoder(SPM)))
    assert facts.types is None
    assert facts.added_tokens is None
    types = probing_of(facts).types(replace(SPM, types=[TokenType.NORMAL.value] * len(SPM.tokens)))
    assert types[-2:] == [CONTROL, USER_DEFINED]


def test_a_guess_of_another_size_cannot_be_used():
    facts = Opened(Bare(Encoder(SPM)))
    assert probing_of(facts).types(replace(SPM, tokens=["a"], types=None, scores=None)) is None
    assert probing_of(Opened(None)).types(SPM) is None


@pytest.mark.parametrize(("id", "lists_all"), [(len(SPM.tokens) - 1, True), (len(SPM.tokens), False)])
def test_a_token_that_only_the_configuration_declares_is_not_extra(id: int, lists_all: bool, tmp_path: Path):
    config = {"added_tokens_decoder": {str(id): {"content": "<|im_end|>", "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert Opened(Encoder(SPM), tmp_path / "tokenizer.json").lists_all_tokens is lists_all


def test_a_configuration_that_cannot_be_read_declares_nothing(tmp_path: Path):
    (tmp_path / "tokenizer_config.json").write_text("[]")
    assert Opened(Encoder(SPM), tmp_path / "tokenizer.json").lists_all_tokens


class Refusing(Bare):
    """A reference that lists types, and that fails in the same way whatever it is asked."""

    def __init__(self, error: Exception) -> None:
        super().__init__(Encoder(SPM))
        self.error = error

    def fail(self, *_asked: object, **_options: object):
        raise self.error

    encode = decode = piece = token_bytes = token_types = added_tokens = declared_spec = fail


ASKED = {
    "pieces": lambda facts: facts.pieces,
    "token_bytes": lambda facts: facts.token_bytes,
    "decode_alone": lambda facts: facts.decode_alone(3),
    "spec": lambda facts: facts.spec,
    "types": lambda facts: facts.types,
    "added_tokens": lambda facts: facts.added_tokens,
    "ranking": lambda facts: facts.ranking,
    "probe": lambda facts: probing_of(facts).types(SPM),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_reference_that_is_gone_does_not_pass_for_one_that_declares_nothing(asked: str):
    assert not ASKED[asked](Opened(Refusing(TokverifyError("unknown request"))))
    with pytest.raises(GoneError, match="no complete response"):
        ASKED[asked](Opened(Refusing(GoneError("no complete response"))))
