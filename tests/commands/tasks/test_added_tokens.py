"""A .model with added tokens that only the files beside it declare: what `convert` writes is right everywhere."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.sentencepiece_maker import train_model
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.report.run import Status
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.sentencepiece.reader import append_tokens
from tokverify.sources.sentencepiece.reader import read_spec as read_model

ADDED = {"<|im_start|>": 90, "<|im_end|>": 91, "<tool>": 92}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.model").write_bytes(
        train_model(vocab_size=90, model_type="unigram", user_defined_symbols=[".", "-"])
    )
    (tmp_path / "added_tokens.json").write_text(json.dumps(ADDED))
    decoder = {str(id): {"content": text, "special": text != "<tool>"} for text, id in ADDED.items()}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    return tmp_path


def run(*arguments: str) -> int:
    return CliRunner().invoke(main, arguments).exit_code


@pytest.mark.process
def test_a_converted_file_passes_every_command(folder: Path):
    made, source = str(folder / "made.gguf"), str(folder / "tokenizer.model")
    assert run("convert", source, "-o", made) == 0
    assert list(read_spec(made).tokens[90:]) == list(ADDED)
    codes = {command: run(command, made, "-r", source) for command in ("run", "check", "audit", "fix")}
    assert codes == dict.fromkeys(codes, 0)


@pytest.mark.process
def test_the_file_of_the_converter_is_faithful(folder: Path):
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    declared = {id: (text, 4 if text == "<tool>" else 3) for text, id in ADDED.items()}
    write_gguf(made, append_tokens(read_model(source), declared))
    assert run("run", str(made), "-r", str(source)) == 0


@pytest.mark.process
def test_markers_that_only_added_tokens_json_lists_may_be_control_tokens(folder: Path):
    made, source = folder / "made.gguf", folder / "tokenizer.model"
    (folder / "tokenizer_config.json").unlink()
    declared = {id: (text, 4 if text == "<tool>" else 3) for text, id in ADDED.items()}
    write_gguf(made, append_tokens(read_model(source), declared))
    # The library finds <|im_start|> in every text, and <s> in none, so no text with both is encoded alike.
    case = Case(id="both", suite="made", text="<s>a<|im_start|>")
    report = verify_model(made, source, [case])
    (result,) = report.results
    assert (result.status, result.explained_by) == (Status.MISMATCH, ("TL002",))


@pytest.mark.process
def test_tokens_that_a_file_lacks_are_appended(folder: Path):
    made, fixed, source = folder / "made.gguf", folder / "fixed.gguf", folder / "tokenizer.model"
    write_gguf(made, read_model(source))
    cases = [Case(id=text, suite="made", text=text, add_special=False) for text in ("the <tool> fox", "<tool>", "fox")]
    fix_model(made, fixed, source, cases)
    assert list(read_spec(fixed).tokens[90:]) == list(ADDED)
