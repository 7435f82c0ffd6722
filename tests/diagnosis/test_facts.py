"""What a reference declares, and what its ids reveal."""

from dataclasses import replace

from support.bare_tokenizer import Bare
from support.spec_maker import BYTE, CONTROL, USER_DEFINED, spm_spec
from tokverify.diagnosis import Facts
from tokverify.engine.encoder import Encoder
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
