"""A sentencepiece model whose configuration declares chat markers and EOS, as Gemma's, and the file made of both."""

import json
from pathlib import Path

import pytest

from support.sentencepiece_maker import BPE, BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, make_model
from tokverify import convert_tokenizer, fix_model, verify_model
from tokverify.case import Case
from tokverify.report.tokenizer_difference import Aspect, Verdict

PIECES = [
    ("<unk>", 0.0, UNKNOWN),
    ("<bos>", 0.0, CONTROL),
    ("<eos>", 0.0, CONTROL),
    ("<turn>", 0.0, USER_DEFINED),
    ("<end_of_turn>", 0.0, USER_DEFINED),
    *((f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)),
    *((text, -1.0, NORMAL) for text in "▁<>_abdefnorstu"),
]
CONFIG = {
    "add_bos_token": True,
    "bos_token": "<bos>",
    "eos_token": "<end_of_turn>",
    "added_tokens_decoder": {str(id): {"content": PIECES[id][0], "special": True} for id in range(5)},
}
TEXTS = ("<turn>a<end_of_turn>", "<bos><turn>a\n<end_of_turn>", "b <eos> <turn>", "a", "<bos>")
CASES = [
    Case(id=f"{index}-{parse_special}", suite="s", text=text, parse_special=parse_special, add_special=True)
    for index, text in enumerate(TEXTS)
    for parse_special in (True, False)
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.model").write_bytes(make_model(PIECES, {3: BPE, 35: 1}, {3: 0, 4: 0}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(CONFIG))
    return tmp_path / "tokenizer.model"


def test_the_converted_file_is_right(model: Path, tmp_path: Path):
    done = convert_tokenizer(model, tmp_path / "x.gguf", cases=CASES, count=500)
    assert (done.written, done.unexplained) == (True, 0)
    report = verify_model(tmp_path / "x.gguf", model, CASES)
    assert report.verdict in {Verdict.EQUAL, Verdict.FAITHFUL}
    assert fix_model(tmp_path / "x.gguf", None, model, CASES).repair is None


def test_the_end_of_a_base_model_is_no_error(model: Path, tmp_path: Path):
    base = tmp_path / "base"
    base.mkdir()
    (base / "tokenizer.model").write_bytes(model.read_bytes())
    (base / "tokenizer_config.json").write_text(json.dumps({**CONFIG, "eos_token": "<eos>"}))
    assert convert_tokenizer(base / "tokenizer.model", tmp_path / "x.gguf", cases=[], count=0).written
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [2, 4]}')
    report = verify_model(tmp_path / "x.gguf", model, CASES)
    (eos,) = (each for each in report.differences if each.aspect is Aspect.SPECIAL_IDS)
    assert "base and instruct files" in eos.message
    assert report.verdict in {Verdict.EQUAL, Verdict.FAITHFUL}
