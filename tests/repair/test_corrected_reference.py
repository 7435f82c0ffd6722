"""A fault of the file beside a contradiction between the files of its reference."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.limits import added, write_json
from support.spec_maker import CONTROL, bpe_spec
from tokverify import fix_model, verify_model
from tokverify.case import Case
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf

SPEC = bpe_spec(["a b", "b c"], {"<s>": CONTROL}, add_bos=True)
CASES = [
    Case(id=str(index), suite="s", text=text, add_special=True) for index, text in enumerate(("abc", "x", "bc ab"))
]


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    """A tokenizer.json that adds no token, beside a configuration that says it does."""
    bos = SPEC.tokens.index("<s>")
    document = {
        "version": "1.0",
        "added_tokens": [added(bos, "<s>")],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: id for id, token in enumerate(SPEC.tokens) if id != bos},
            "merges": SPEC.merges,
        },
    }
    config = {"add_bos_token": True, "bos_token": "<s>", "eos_token": "<s>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return write_json(tmp_path / "tokenizer.json", document)


def test_it_is_named_and_repaired_alone(reference: Path, tmp_path: Path):
    bos = SPEC.tokens.index("<s>")
    right = replace(SPEC, special_ids={"bos": bos, "eos": bos})
    write_gguf(tmp_path / "wrong.gguf", replace(right, merges=["b c", "a b"]))
    report = verify_model(tmp_path / "wrong.gguf", reference, CASES, diagnose=True)
    first = report.diagnosis.explanations[0]
    assert (first.is_repair, first.unexplained) == (True, ())
    fixed = fix_model(tmp_path / "wrong.gguf", tmp_path / "fixed.gguf", reference, CASES)
    assert fixed.repair is not None
    assert fixed.after.fail == 0
    assert any("its files contradict each other" in part for part in fixed.not_compared)
    assert read_spec(tmp_path / "fixed.gguf").merges == right.merges
    assert read_spec(tmp_path / "fixed.gguf").add_bos
