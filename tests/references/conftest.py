"""Tokenizers small enough to work out by hand, and llama.cpp's own ids for the real ones."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Row = tuple[str, bool, bool, list[int]]


@pytest.fixture
def golden(shared: Path) -> Callable[[str], Iterator[Row]]:
    def rows(name: str) -> Iterator[Row]:
        for line in (shared / "golden" / f"{name}.jsonl").read_text().splitlines():
            row = json.loads(line)
            yield row["text"], row["add_special"], row["parse_special"], row["ids"]

    return rows


@pytest.fixture
def install_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Install a package with one module and one entry point that registers a kind."""

    def install(module: str, source: str, entry_point: str) -> None:
        info = tmp_path / "adapter-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adapter\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[tokverify.references]\n{entry_point}\n", encoding="utf-8")
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    return install


@pytest.fixture
def tokenizer_json() -> dict:
    """Words, with BOS and EOS around them, as a tokenizer.json."""
    return {
        "version": "1.0",
        "truncation": {"max_length": 2, "stride": 0, "strategy": "LongestFirst", "direction": "Right"},
        "padding": {
            "strategy": {"Fixed": 9},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[UNK]",
        },
        "added_tokens": [
            {"id": id, "content": text, "special": special, **dict.fromkeys(_FLAGS, False)}
            for id, text, special in [(1, "<s>", True), (2, "</s>", True), (5, "<tool>", False)]
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "</s>", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {
                text: {"id": text, "ids": [id], "tokens": [text]} for text, id in [("<s>", 1), ("</s>", 2)]
            },
        },
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {"[UNK]": 0, "<s>": 1, "</s>": 2, "red": 3, "fox": 4},
            "unk_token": "[UNK]",
        },
    }


_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


@pytest.fixture(scope="session")
def sentencepiece_model() -> bytes:
    """A .model with byte pieces, a control token and a user-defined piece."""
    from tokverify.train.sentencepiece import train_sentencepiece

    return train_sentencepiece(
        ["the red fox sees the other fox", "a fox is a fox"],
        vocab_size=300,
        model_type="bpe",
        byte_fallback=True,
        hard_vocab_limit=False,
        control_symbols=["<turn>"],
        user_defined_symbols=["<tool>"],
        normalization_rule_name="identity",
    )
