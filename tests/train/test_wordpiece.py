import json
import subprocess
import sys

import pytest

from tokverify.errors import TokverifyError
from tokverify.sources.huggingface.conversion import read_spec
from tokverify.spec import TokenType


def test_the_layout_is_that_of_bert(trained_on, tmp_path):
    trained = trained_on("wordpiece", "Hugging hugs, hugging hugs", vocab_size=60)
    path = tmp_path / trained.name
    path.write_bytes(trained.data)
    spec = read_spec(path)
    assert spec.model == "bert"
    assert list(spec.tokens[:5]) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert {"▁hugs", "▁H", "ug"} <= set(spec.tokens)
    assert (spec.lowercase, spec.strip_accents) == (False, False)
    assert [(token, type) for token, type in zip(spec.tokens, spec.types, strict=True)][-3:] == [
        (character, TokenType.USER_DEFINED) for character in "▁\u166d\U000111c9"
    ]
    assert spec.special_ids["bos"], spec.special_ids["sep"] == (2, 3)


def test_characters_that_are_always_separate_tokens_are_in_no_piece(trained_on):
    vocabulary = json.loads(trained_on("wordpiece", "a▁b a▁b a\u166db", vocab_size=60).data)["model"]["vocab"]
    assert not [piece for piece in vocabulary if set(piece) & set("▁\u166d")]
    assert {"a", "b"} <= set(vocabulary)


def test_ids_are_the_same_in_another_process(trained_on, tmp_path):
    """The library's own trainer numbers `##a` and `##b` by chance, which changes from one process to the next."""
    text = "".join(f"{chr(0x4E00 + n)} a{chr(0xE0 + n % 200)}b " for n in range(1500))
    here = trained_on("wordpiece", text, vocab_size=1300).data
    code = (
        "import sys; from pathlib import Path; from tokverify.train import *\n"
        "plan = TrainingPlan(corpus=(Path(sys.argv[1]),), vocab_size=1300)\n"
        "sys.stdout.buffer.write(TRAINERS['wordpiece'](plan).data)"
    )
    there = subprocess.run([sys.executable, "-c", code, tmp_path / "corpus.txt"], capture_output=True, check=True)
    assert there.stdout == here


def test_only_the_most_frequent_characters_are_kept(trained_on):
    text = "".join(chr(0x4E00 + n) for n in range(3000)) + "".join(chr(0x5E00 + n) for n in range(10)) * 2
    vocabulary = json.loads(trained_on("wordpiece", text, vocab_size=2000).data)["model"]["vocab"]
    assert chr(0x5E09) in vocabulary
    assert chr(0x4E00) in vocabulary
    assert chr(0x4E00 + 2999) not in vocabulary


def test_a_vocabulary_size_that_is_too_small_is_refused(trained_on):
    # Five special tokens, three characters, two of them inside of words too, and three added tokens.
    with pytest.raises(
        TokverifyError, match=r"a vocabulary of 12 tokens is too small: .* take 13; request a larger vocabulary"
    ):
        trained_on("wordpiece", "abc b", vocab_size=12)
    trained_on("wordpiece", "abc b", vocab_size=13)


def test_a_very_long_word_is_not_unknown(trained_on):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(trained_on("wordpiece", "aa aa").data.decode())
    assert "[UNK]" not in tokenizer.encode("a" * 1000).tokens
