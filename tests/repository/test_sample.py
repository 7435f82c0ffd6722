import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from support.paths import DATA, SAMPLE
from tokverify.sources.gguf.declaration import read_spec
from tokverify.spec import TokenType

SCRIPT = DATA / "make_sample.py"
NAMES = ["sample-broken.gguf", "sample.gguf", "sample.tokenizer.json", "sample.tokenizer.model"]


@pytest.fixture(scope="module")
def spec():
    return read_spec(SAMPLE / "sample.gguf")


@pytest.fixture(scope="module")
def reference():
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_file=str(SAMPLE / "sample.tokenizer.model"))


@pytest.mark.slow
def test_the_script_reproduces_the_committed_files(tmp_path: Path):
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == NAMES
    for name in NAMES:
        # A new version of sentencepiece or gguf may write other bytes: check the difference, then run the script.
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes()


def test_the_sample_resembles_gemma_3(spec):
    assert (spec.model, spec.pre, len(spec.tokens)) == ("llama", "default", 2000)
    assert spec.special_ids == {"bos": 2, "eos": 1, "unk": 3, "pad": 0}
    assert (spec.add_bos, spec.add_eos, spec.add_space_prefix) == (True, False, False)
    assert spec.general == {"architecture": "gemma3", "name": "tokverify sample"}
    assert list(spec.types[:4]) == [TokenType.CONTROL] * 4
    assert sum(kind == TokenType.BYTE for kind in spec.types) == 256
    user_defined = {spec.tokens[id] for id, kind in enumerate(spec.types) if kind == TokenType.USER_DEFINED}
    assert {"  ", " " * 16, "\n", "\n" * 8, "\t", "\t" * 8} <= user_defined
    assert "\t\t" not in user_defined
    assert {spec.scores[spec.tokens.index(token)] for token in user_defined} == {-1000.0}


def test_the_broken_sample_differs_only_in_types(spec):
    twin = read_spec(SAMPLE / "sample-broken.gguf")
    assert replace(twin, types=spec.types) == spec
    changed = {(old, new) for old, new in zip(spec.types, twin.types, strict=True) if old != new}
    assert changed == {(TokenType.USER_DEFINED, TokenType.NORMAL)}


def test_the_reference_has_the_same_pieces(spec, reference):
    assert reference.vocab_size() == len(spec.tokens)
    for id, token in enumerate(spec.tokens):
        assert reference.id_to_piece(id).replace("▁", " ") == token.replace("▁", " ")


def test_the_reference_keeps_every_space(reference):
    text = "  word   with\t\t\textra\n\nspaces "
    assert reference.decode(reference.encode(text)) == text
    assert len(set(reference.encode("a\n\n\nb\t\t\tc   d")) & set(range(4, 34))) == 3
