import pytest

from support import paths
from support.fake_tokenizer import FakeTokenizer
from tokverify.engine.encoder import Encoder
from tokverify.engine.models.merge import merge
from tokverify.report.fuzz import Share
from tokverify.sources.load import load_gguf
from tokverify.spec import TokenizerSpec, TokenType
from tokverify.texts.coverage import CoverageCounter, ratio, steps

SAMPLE = paths.SAMPLE / "sample.gguf"


@pytest.fixture(scope="module")
def sample() -> Encoder:
    return load_gguf(SAMPLE)


def test_steps_of_a_piece_by_hand():
    ranks = {"a b": 1, "b c": 0, "a bc": 2, "ab c": 3}
    assert steps("abc", ranks, " ") == ["b c", "a bc"]
    assert steps("ab", ranks, " ") == ["a b"]
    assert steps("abab", {"a b": 0, "ab ab": 1}, " ") == ["a b", "a b", "ab ab"]
    assert steps("aaa", {"a a": 0}, " ") == ["a a"]
    assert steps("a", ranks, " ") == steps("", ranks, " ") == steps("xyz", ranks, " ") == []
    assert steps("abc", {"ab": -1.0, "bc": -2.0, "abc": 0.0}, "") == ["bc", "abc"]


def test_steps_end_where_merging_does(sample):
    costs = dict(zip(sample.settings.pieces, (-score for score in sample.spec.scores), strict=True))
    for piece in sample.settings.pieces:
        taken = steps(piece, costs, "")
        assert len(merge(list(piece), costs, "")) == len(piece) - len(taken)


def test_merges_by_score_count_each_normal_piece(sample):
    counter = CoverageCounter(sample)
    normal = [
        piece
        for piece, kind in zip(sample.spec.tokens, sample.spec.types, strict=True)
        if kind == TokenType.NORMAL and len(piece) > 1
    ]
    assert counter.pieces == Share(0, 2000)
    assert counter.coverage.merges == Share(0, len(normal))
    id = sample.encode(" the")[0]
    assert sample.piece(id) == "▁the"
    counter.add([id, id])
    assert counter.pieces == Share(1, 2000)
    # On the way: "he", "the".
    assert counter.coverage.merges == Share(len(set(steps("▁the", _costs(sample), ""))), len(normal))
    counter.add([sample.settings.ids["<bos>"]])
    assert counter.pieces == Share(2, 2000)


def _costs(encoder: Encoder) -> dict[str, float]:
    return dict(zip(encoder.settings.pieces, (-score for score in encoder.spec.scores), strict=True))


def test_merges_by_rank_count_those_listed():
    spec = TokenizerSpec(
        model="gpt2",
        pre="gpt-2",
        tokens=["a", "b", "c", "ab", "bc", "abc", "<s>"],
        types=[TokenType.NORMAL] * 6 + [TokenType.CONTROL],
        merges=["a b", "b c", "ab c", "a bc", "a b"],
    )
    counter = CoverageCounter(Encoder(spec))
    counter.add([5])
    assert counter.coverage.merges == Share(2, 4)
    counter.add([3, 0, 6])
    assert counter.coverage.merges == Share(2, 4)
    counter.add([4])
    assert counter.coverage.merges == Share(3, 4)
    assert counter.pieces == Share(5, 7)


def test_a_foreign_tokenizer_has_no_known_merges():
    counter = CoverageCounter(FakeTokenizer("a", "b"))
    counter.add([1])
    assert (counter.pieces, counter.coverage.merges) == (Share(1, 2), None)


def test_shares():
    assert ratio(Share(1, 4)) == 0.25
    assert ratio(Share(0, 0)) == 1.0
