import pytest

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.trial import Trial
from tokverify.engine.encoder import Encoder
from tokverify.report.fuzz import DifferenceKind
from tokverify.spec import TokenizerSpec
from tokverify.texts.sample import Sample
from tokverify.tokenizer import adapted_decoding_of

BERT = Encoder(TokenizerSpec(model="bert", tokens=["▁a", "▁,"]))


class LikeLlamaCpp(FakeTokenizer):
    """Encodes as `BERT` does and decodes as llama.cpp would."""

    decodes_as_llama_cpp = True

    def __init__(self, decoded: bytes) -> None:
        super().__init__("▁a", "▁,")
        self.decoded = decoded

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        return BERT.encode(text, add_special=add_special, parse_special=parse_special)

    def decode(self, _ids: object) -> bytes:
        return self.decoded


def test_an_encoder_decodes_as_llama_cpp_only_where_the_other_side_does():
    assert adapted_decoding_of(BERT, FakeTokenizer()) is None
    assert adapted_decoding_of(BERT, LikeLlamaCpp(b""))([0, 1]) == b" a,"
    assert adapted_decoding_of(LikeLlamaCpp(b"x"), BERT) is None


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("decoded", "differs"), [(b" a,", False), (b" a ,", True)])
def test_run_and_fuzz_compare_decoding_alike_and_on_either_side(decoded: bytes, differs: bool, swapped: bool):
    sides = (LikeLlamaCpp(decoded), BERT) if swapped else (BERT, LikeLlamaCpp(decoded))
    (result,) = verify_tokenizers(*sides, [Case(id="a", suite="s", text="a,")]).results
    assert (result.decode_difference is not None) == differs
    trial = Trial.of(*sides, decoding=True)
    outcome = trial.outcome(Sample("a,", add_special=False, parse_special=True))
    assert (outcome is not None and outcome.kind is DifferenceKind.DECODING) == differs
