"""All ids produced by llama.cpp, for real vocabularies and for each name of a pre-tokenizer."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.selection import thinned
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS, PreTokenizer

SEPARATOR = "\n__ggml_vocab_test__\n"
WITHOUT_GOLDEN = {"whitespace", "k2-horizon", "mmbert"}
"""With the first name and a byte-level vocabulary, llama.cpp aborts on most texts. The others it learned later than the
golden files were made."""


def differences(encoder: Encoder, path: Path) -> Iterator[str]:
    """Describe the rows of a golden file that we encode differently."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row = json.loads(line)
        options = {name: row[name] for name in ("add_special", "parse_special")}
        ids = encoder.encode(row["text"], **options)
        if ids != row["ids"]:
            yield f"{path.name}:{number}: {row['text']!a} {options}: {ids} instead of {row['ids']}"


@pytest.mark.parametrize(
    "name",
    ["llama-spm", "gpt-2", "mpt", "qwen2", "gemma-3", "gemma-4", "bert-bge", "t5", "xlnet", "nomic-bert-moe"],
)
def test_vocabulary(shared: Path, encoder_of, name: str):
    assert list(differences(encoder_of(name), shared / "golden" / f"{name}.jsonl")) == []


@pytest.fixture(scope="module")
def encoder_with(spec_of) -> Callable[[str], Encoder]:
    """GPT-2's vocabulary with another pre-tokenizer; names that mean the same share an encoder, which saves time."""
    encoders: dict[PreTokenizer, Encoder] = {}

    def build(name: str) -> Encoder:
        pre_tokenizer = PRE_TOKENIZERS[name]
        if pre_tokenizer not in encoders:
            encoders[pre_tokenizer] = Encoder(replace(spec_of("gpt-2"), pre=name))
        return encoders[pre_tokenizer]

    return build


@pytest.mark.parametrize("name", thinned(2, sorted(PRE_TOKENIZERS.keys() - WITHOUT_GOLDEN)))
def test_pre_tokenizer(shared: Path, encoder_with: Callable[[str], Encoder], name: str):
    assert list(differences(encoder_with(name), shared / "golden" / "pre" / f"{name}.jsonl")) == []


@pytest.mark.parametrize("parse_special", [False, True])
@pytest.mark.parametrize("name", ["llama-spm", "gpt-2", "mpt", "qwen2", "gemma-4", "bert-bge"])
def test_llama_cpps_own_strings(vocabs: Path, encoder_of, name: str, parse_special: bool):
    texts = (vocabs / f"{name}.gguf.inp").read_bytes().decode().split(SEPARATOR)
    # The files end in an empty line, which in most of them represents an empty text.
    lines = (vocabs / f"{name}.gguf.out").read_text().split("\n")[: len(texts)]
    expected = [[int(id) for id in line.split()] for line in lines]
    assert [encoder_of(name).encode(text, parse_special=parse_special) for text in texts] == expected


def test_every_golden_name_is_known(shared: Path):
    assert {path.stem for path in (shared / "golden" / "pre").glob("*.jsonl")} == PRE_TOKENIZERS.keys() - WITHOUT_GOLDEN
