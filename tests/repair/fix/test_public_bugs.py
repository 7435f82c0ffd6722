"""Public bug reports, rebuilt as files: the cause is named in the reporter's words, and repaired if a file can be."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.run import verify_model
from tokverify.errors import TokverifyError
from tokverify.report.fix import FixReport
from tokverify.report.run import Report

pytestmark = pytest.mark.slow
REPAIRED = {
    "01_chatml_ids_swapped": "rewriting 2 tokens (ids 32000-32001) as in the reference",
    "02_extra_token_of_config": 'removing token 32002 "<sep>" that the reference does not have',
    "03_shifted_added_tokens": 'removing token 50257 "<|audio|>", inserted by mistake',
    "04_han_pattern": "setting the pre-tokenizer to kimi-k2 instead of gpt-4o",
    "11_word_as_padding": 'setting the type of token 0 "!" to NORMAL',
    "13_several_eos": 'making token 50260 "<|user|>" the eot token',
    "21_padding_over_new_tokens": "rewriting 60 tokens (ids 50257-50316) as in the reference",
    "24_no_dummy_prefix": "turning add_space_prefix on",
}
REFERENCE_AT_FAULT = {
    "08_second_regex": "its ByteLevel splits each part of a text a second time",
    "09_resaved_by_v5": "transformers 5 saves this if tokenizer_config.json names GPT2Tokenizer",
}
NO_FAULT_OF_THE_FILE = {
    "06_decoder_missing": "its tokenizer.json has no decoder",
    "07_decoder_leading_space": "does not undo what is done to a text (Prepend, Replace)",
    "12_eos_of_base_model": 'its eos_token and generation_config.json name only 1 "<eos>"',
    "17_normalized_added_token": 'the reference also finds "cool-token" in "COOL-TOKEN"',
}


def make(shared: Path, name: str, directory: Path) -> tuple[Path, Path]:
    """Run the script of a bug report; return its file and its reference."""
    environment = {**os.environ, "TRANSFORMERS_VERBOSITY": "error"}
    script = [sys.executable, shared / "bugs" / f"{name}.py"]
    subprocess.run(script, cwd=directory, env=environment, check=True, capture_output=True)
    return directory / "model.gguf", directory / "ref"


def sentences(report: Report) -> Iterator[str]:
    """Yield what a report says about causes, the most likely one first."""
    for each in report.diagnosis.explanations if report.diagnosis else ():
        yield each.sentence
    yield report.undiagnosed
    for difference in report.differences:
        yield difference.message


@pytest.mark.parametrize(("name", "cause"), REPAIRED.items())
def test_a_faulty_file_is_repaired(shared: Path, tmp_path: Path, name: str, cause: str):
    model, reference = make(shared, name, tmp_path)
    assert next(sentences(verify_model(model, reference, diagnose=True))).startswith(cause)
    fixed: FixReport = fix_model(model, tmp_path / "fixed.gguf", reference)
    assert fixed.repair.sentence.startswith(cause)
    assert (fixed.after.fail, fixed.errors) == (0, ())
    assert verify_model(tmp_path / "fixed.gguf", reference).ok


@pytest.mark.parametrize(("name", "cause"), REFERENCE_AT_FAULT.items())
def test_a_reference_at_fault_is_not_followed(shared: Path, tmp_path: Path, name: str, cause: str):
    model, reference = make(shared, name, tmp_path)
    report = verify_model(model, reference, diagnose=True)
    assert cause in report.undiagnosed
    assert not report.ok
    with pytest.raises(TokverifyError, match="not repaired: the reference is at fault"):
        fix_model(model, None, reference)


@pytest.mark.parametrize(("name", "cause"), NO_FAULT_OF_THE_FILE.items())
def test_what_is_no_fault_of_the_file_is_said_and_left(shared: Path, tmp_path: Path, name: str, cause: str):
    model, reference = make(shared, name, tmp_path)
    report = verify_model(model, reference, diagnose=True)
    assert any(cause in sentence for sentence in sentences(report))
    assert report.ok
    assert fix_model(model, None, reference).repair is None
