"""Test what is said of a file that does not exist, or whose name does not tell what it is."""

from pathlib import Path

import pytest

from tokverify.errors import BrokenFileError
from tokverify.sources.location import kind_of, suggest_file


@pytest.mark.parametrize(
    ("written", "suggestion"),
    [
        ("gpt2.tokenizer.json", "did you mean '{tmp}/gpt-2.tokenizer.json'?"),
        ("gpt2.gguf", "did you mean '{tmp}/gpt-2.gguf'?"),
        ("absent.gguf", "check the path"),
        ("sample.tokenizer.json", "check the path"),
        ("gpt2.model", "check the path"),
        ("absent/gpt-2.gguf", "check the path"),
        ("a\0b", "check the path"),
    ],
)
def test_a_file_of_the_same_kind_with_a_similar_name_is_suggested(tmp_path: Path, written: str, suggestion: str):
    for name in ("gpt-2.gguf", "gpt-2.tokenizer.json", "other.json"):
        (tmp_path / name).touch()
    assert suggest_file(tmp_path / written) == suggestion.format(tmp=tmp_path)


def test_a_bert_vocabulary_with_another_name_is_not_taken_for_json(tmp_path: Path):
    path = tmp_path / "bert-base-vocab.txt"
    path.write_text("[PAD]\n[UNK]\n")
    with pytest.raises(BrokenFileError, match=r"not a tokenizer; .* a vocab\.txt under exactly this name"):
        kind_of(path)
    assert kind_of(path.rename(tmp_path / "vocab.txt")) == "vocab"
