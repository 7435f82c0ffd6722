"""What a reference declares, and what its ids reveal."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.bare_tokenizer import Bare
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, spm_spec
from tokverify.engine.encoder import Encoder
from tokverify.errors import GoneError, TokverifyError
from tokverify.repair.diagnosis import Facts
from tokverify.spec import TokenType

SPM = spm_spec({"▁": -5, "a": -1, "<x>": 0, "<y>": 0}, {"<x>": CONTROL, "<y>": USER_DEFINED})


def test_a_reference_that_lists_types_is_asked_for_them():
    facts = Facts(Encoder(SPM))
    assert list(facts.types) == list(SPM.types)
    assert {token.text: token.special for token in facts.added_tokens.values()} == {
        "<unk>": True,
        "<s>": True,
        "</s>": True,
        "<x>": True,
        "<y>": False,
    }


def test_the_types_of_a_reference_without_any_are_probed():
    facts = Facts(Bare(Encoder(SPM)))
    assert facts.types is None
    assert facts.added_tokens is None
    probed = facts.probe(replace(SPM, types=[TokenType.NORMAL.value] * len(SPM.tokens)))
    assert probed.types[-2:] == [CONTROL, USER_DEFINED]
    assert probed.types[3] == BYTE


def test_a_guess_of_another_size_cannot_be_used():
    assert Facts(Bare(Encoder(SPM))).probe(replace(SPM, tokens=["a"], types=None, scores=None)) is None
    assert Facts(None).probe(SPM) is None


@pytest.mark.parametrize(("id", "lists_all"), [(len(SPM.tokens) - 1, True), (len(SPM.tokens), False)])
def test_a_token_that_only_the_configuration_declares_is_not_extra(id: int, lists_all: bool, tmp_path: Path):
    config = {"added_tokens_decoder": {str(id): {"content": "<|im_end|>", "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert Facts(Encoder(SPM), tmp_path / "tokenizer.json").lists_all_tokens is lists_all


def test_a_configuration_that_cannot_be_read_declares_nothing(tmp_path: Path):
    (tmp_path / "tokenizer_config.json").write_text("[]")
    assert Facts(Encoder(SPM), tmp_path / "tokenizer.json").lists_all_tokens


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
    "probe": lambda facts: facts.probe(SPM),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_reference_that_is_gone_does_not_pass_for_one_that_declares_nothing(asked: str):
    assert not ASKED[asked](Facts(Refusing(TokverifyError("unknown request"))))
    with pytest.raises(GoneError, match="no complete response"):
        ASKED[asked](Facts(Refusing(GoneError("no complete response"))))
