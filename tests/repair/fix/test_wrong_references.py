"""References of other models, and damaged ones, are doubted with their evidence, and nothing is repaired."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokverify.commands.tasks.fix import fix_model
from tokverify.compare.convert.json_writer import write_json
from tokverify.errors import TokverifyError
from tokverify.sources.gguf.declaration import read_spec

pytestmark = pytest.mark.slow
OTHER_MODELS = (
    ("gpt-2", "mpt.tokenizer.json"),
    ("mpt", "gpt-2.tokenizer.json"),
    ("gemma-3", "gemma-4.tokenizer.json"),
    ("gemma-4", "gemma-3.tokenizer.json"),
    ("t5", "xlnet.tokenizer.model"),
    ("xlnet", "t5.tokenizer.model"),
    ("llama-spm", "xlnet.tokenizer.model"),
    ("qwen2", "gpt-2.tokenizer.json"),
)


@pytest.mark.parametrize(("model", "reference"), OTHER_MODELS)
def test_the_reference_of_another_model_is_refused(vocabs: Path, model: str, reference: str):
    with pytest.raises(TokverifyError, match="belongs to another model, or another version of it: "):
        fix_model(vocabs / f"{model}.gguf", None, vocabs / reference)


def in_order_of_texts(document: dict[str, Any]) -> None:
    vocab = document["model"]["vocab"]
    document["model"]["vocab"] = {token: id for id, token in enumerate(sorted(vocab))}


def without_split(document: dict[str, Any]) -> None:
    document["pre_tokenizer"] = {
        "type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True
    }  # fmt: skip


def split_twice(document: dict[str, Any]) -> None:
    for stage in document["pre_tokenizer"]["pretokenizers"]:
        stage["use_regex"] = stage["type"] == "ByteLevel"


@pytest.mark.parametrize(
    ("damage", "evidence"),
    [
        (in_order_of_texts, "nearly all of its tokens differ from those with the same ids"),
        (without_split, "its pre-tokenizer has no Split .* so it splits its own tokens"),
        (split_twice, "splits each part of a text a second time, .* so it splits its own tokens"),
    ],
)
def test_a_damaged_reference_is_refused(
    vocabs: Path, tmp_path: Path, damage: Callable[[dict[str, Any]], None], evidence: str
):
    write_json(tmp_path / "tokenizer.json", read_spec(vocabs / "qwen2.gguf"))
    document = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    damage(document)
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(TokverifyError, match=evidence):
        fix_model(vocabs / "qwen2.gguf", None, tmp_path / "tokenizer.json")


def test_a_reference_without_its_decoder_is_named_as_the_one_at_fault(vocabs: Path, tmp_path: Path):
    document = json.loads((vocabs / "gpt-2.tokenizer.json").read_text("utf-8"))
    (tmp_path / "tokenizer.json").write_text(json.dumps({**document, "decoder": None}), "utf-8")
    report = fix_model(vocabs / "gpt-2.gguf", None, tmp_path / "tokenizer.json")
    assert report.repair is None
    assert "its tokenizer.json has no decoder" in report.blame
