import pytest

from tokverify.errors import TokverifyError
from tokverify.sources.sentencepiece.message import parse
from tokverify.train.sentencepiece import _split_long, train_sentencepiece

TEXT = "the red fox sees the other fox and a fox is no hen then there were nine new houses\n" * 3


def pieces_of(data: bytes) -> list[str]:
    return [piece.piece.decode() for piece in parse(data).pieces]


def test_spm_has_byte_pieces_and_llama_special_tokens(trained_on):
    trained = trained_on("spm", TEXT, vocab_size=320)
    message = parse(trained.data)
    assert trained.name == "tokenizer.model"
    assert message.trainer_spec.model_type == 2
    assert pieces_of(trained.data)[:4] == ["<unk>", "<s>", "</s>", "<0x00>"]
    assert "▁the" in pieces_of(trained.data)
    assert not message.normalizer_spec.precompiled_charsmap
    assert not message.normalizer_spec.remove_extra_whitespaces


def test_unigram_has_a_charsmap_and_t5_special_tokens(trained_on):
    trained = trained_on("unigram", TEXT, vocab_size=40)
    message = parse(trained.data)
    assert message.trainer_spec.model_type == 1
    assert pieces_of(trained.data)[:3] == ["<pad>", "</s>", "<unk>"]
    assert len(message.normalizer_spec.precompiled_charsmap) > 100_000


def test_sums_of_unigram_scores_are_exact(trained_on):
    scores = [piece.score for piece in parse(trained_on("unigram", TEXT, vocab_size=60).data).pieces]
    assert len(set(scores)) > 10
    assert all((score * 64).is_integer() for score in scores)


def test_rounding_scores_changes_nothing_else(trained_on):
    from tokverify.train.sentencepiece import _round_scores

    trained = trained_on("unigram", TEXT, vocab_size=60).data
    assert _round_scores(trained) == trained


@pytest.mark.parametrize("algorithm", ["spm", "unigram"])
def test_a_small_corpus_yields_fewer_tokens_and_a_note(trained_on, algorithm: str):
    trained = trained_on(algorithm, TEXT, vocab_size=5000)
    size = len(parse(trained.data).pieces)
    assert size < 500
    assert trained.notes == (f"the corpus yields only {size} of the requested 5,000 tokens",)


@pytest.mark.parametrize(("algorithm", "size"), [("spm", 260), ("spm", 1), ("unigram", 10), ("unigram", 1)])
def test_a_vocabulary_size_that_is_too_small_is_refused(trained_on, algorithm: str, size: int):
    with pytest.raises(
        TokverifyError,
        match=f"^a vocabulary of {size} tokens is too small: .* take [0-9]+; request a larger vocabulary$",
    ):
        trained_on(algorithm, TEXT, vocab_size=size)


def test_an_error_of_the_library_is_quoted():
    with pytest.raises(TokverifyError, match=r"sentencepiece cannot train on this corpus: .*too high"):
        train_sentencepiece([TEXT], vocab_size=5000, model_type="bpe")


def test_long_lines_are_split_and_not_dropped():
    lines = ["short", "word " * 500, "x" * 2500]
    cut = list(_split_long(lines))
    assert "".join(cut) == "".join(lines)
    assert max(map(len, cut)) == 1000
    assert all(part.startswith(("short", "word", " word", "x")) or part == " " for part in cut)


def test_a_corpus_of_one_long_line_can_be_learned(trained_on):
    assert "▁house" in {piece[:6] for piece in pieces_of(trained_on("spm", "houses and fields " * 5000).data)}


def test_a_corpus_that_normalization_empties_is_refused(trained_on):
    with pytest.raises(TokverifyError, match=r"^nothing to learn: normalization removes every character"):
        trained_on("unigram", "\ufeff")
