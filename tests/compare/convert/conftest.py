"""Small tokenizers of the libraries, as files to convert."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import AddedToken, pre_tokenizers

from support.byte_level_maker import train_byte_level
from tokverify.case import Case
from tokverify.compare.convert import Conversion, convert


@pytest.fixture
def byte_level(tmp_path: Path) -> Callable[..., Path]:
    """Write a byte-level tokenizer.json with `added` tokens and `changes` to its content."""

    def make(*added: AddedToken, **changes: object) -> Path:
        tokenizer = train_byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), "<|endoftext|>")
        tokenizer.add_tokens(list(added))
        path = tmp_path / "in.tokenizer.json"
        path.write_text(json.dumps(json.loads(tokenizer.to_str()) | changes))
        return path

    return make


@pytest.fixture
def to_gguf(tmp_path: Path) -> Callable[..., Conversion]:
    """Convert a file to GGUF, verified with a few given texts and a few hundred generated ones."""

    def run(source: Path, *texts: str, **options: object) -> Conversion:
        cases = [Case(id=f"own-{index}", suite="own", text=text) for index, text in enumerate(texts)]
        return convert(source, tmp_path / "out.gguf", cases=cases, **{"count": 300} | options)

    return run
