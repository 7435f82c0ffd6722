"""How llama.cpp adds spaces where Metaspace does not, for each scheme of both kinds of models."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from support.spec_maker import BYTE_PIECES
from tokverify.errors import UnsupportedError

PIECES = ["<unk>", "<s>", "</s>", *BYTE_PIECES, "▁", "a", "b", "▁a", "ab", "▁▁", "▁ab"]
MERGES = [("▁", "a"), ("a", "b"), ("▁a", "b"), ("▁", "ab"), ("▁", "▁")]
TEXTS = ["a", "<s>a", "a<s>ab", " a", "<s> a", "  a", "a b", " <s>", "", " ", "<s> ", "\n a"]


def write(path, tokenizer):
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    path.write_text(tokenizer.to_str())
    return path


def bpe():
    ids = {piece: id for id, piece in enumerate(PIECES)}
    return Tokenizer(models.BPE(ids, MERGES, unk_token=PIECES[0], byte_fallback=True, fuse_unk=True))


def unigram(*without):
    pieces = [piece for piece in PIECES if piece not in {*BYTE_PIECES, *without}]
    return Tokenizer(models.Unigram([(piece, -1.0 - 0.37 * id) for id, piece in enumerate(pieces)], 0, False))


def losses(done):
    return [
        (sentence, count)
        for sentence, count in zip(done.untransportable, done.explained, strict=True)
        if sentence.startswith("pre_tokenizer Metaspace: ")
    ]


@pytest.mark.parametrize("make", [bpe, unigram])
@pytest.mark.parametrize("scheme", ["first", "always"])
def test_all_differences_are_explained_and_the_file_is_written(to_gguf, tmp_path, make, scheme):
    tokenizer = make()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    done = to_gguf(write(tmp_path / "in.tokenizer.json", tokenizer), *TEXTS)
    assert (done.written, done.unexplained) == (True, 0)
    ((sentence, count),) = losses(done)
    assert count
    assert ("prepend_scheme first" in sentence) == (scheme == "first")


@pytest.mark.parametrize("make", [bpe, unigram])
def test_without_added_spaces_there_is_no_loss(to_gguf, tmp_path, make):
    tokenizer = make()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    done = to_gguf(write(tmp_path / "in.tokenizer.json", tokenizer), *TEXTS)
    assert (losses(done), done.unexplained) == ([], 0)


def test_where_spaces_are_merged_only_the_scheme_first_is_a_loss(to_gguf, tmp_path):
    tokenizer = unigram("▁▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    done = to_gguf(write(tmp_path / "in.tokenizer.json", tokenizer), *TEXTS, count=0)
    assert losses(done) == []


def test_a_space_before_the_first_word_only_is_rejected(to_gguf, tmp_path):
    tokenizer = unigram("▁▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    )
    with pytest.raises(UnsupportedError, match="only the first word begins with a space"):
        to_gguf(write(tmp_path / "in.tokenizer.json", tokenizer))
