"""Test that a model is opened once per run."""

import json
import subprocess
import sys

import pytest

import tokverify
from support.paths import SAMPLE
from tokverify.errors import TokverifyError

MODEL, REFERENCE = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"
COUNTING = """
import collections, json, os, sys
from tokverify.cli import main

opened = collections.Counter()
sys.addaudithook(lambda event, args: event == "open" and opened.update([os.path.basename(str(args[0]))]))
try:
    main(sys.argv[1:])
except SystemExit:
    print(json.dumps(opened), file=sys.stderr)
"""


def count_opens(*arguments: object) -> dict[str, int]:
    """Run a command in its own process and count how often it opens each file, by name."""
    command = [sys.executable, "-c", COUNTING, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", MODEL, "-r", REFERENCE, "--suite", "seed"],
        ["run", SAMPLE / "sample-broken.gguf", "-r", REFERENCE, "--suite", "seed"],
        ["fuzz", MODEL, "-r", REFERENCE, "--count", "50"],
    ],
    ids=["run", "run with a diagnosis", "fuzz"],
)
def test_a_model_is_read_once_and_hashed_once(arguments):
    assert count_opens(*arguments)[arguments[1].name] == 2


def test_a_model_that_is_only_used_is_not_hashed():
    assert count_opens("encode", MODEL, "a")["sample.gguf"] == 1
    assert count_opens("explain", MODEL, "a", "-r", REFERENCE)["sample.gguf"] == 1


def test_an_opened_model_is_used_as_it_is():
    model = tokverify.open_model(MODEL)
    assert tokverify.open_model(model) is model
    assert (model.kind, model.path) == ("gguf", MODEL)
    assert model.encoder.spec is model.spec
    assert model.side is model.side
    assert len(model.side.sha256) == 64


def test_an_opened_reference_is_used_as_it_is():
    model = tokverify.open_model(MODEL)
    reference = tokverify.open_reference(model, REFERENCE)
    assert tokverify.open_reference(model, reference) is reference
    assert reference.path == REFERENCE
    assert {"python", "sentencepiece"} <= set(reference.versions)


def test_the_side_of_a_large_model_has_no_digest(monkeypatch):
    monkeypatch.setattr("tokverify.tasks.opening._MAX_HASHED_BYTES", 10)
    assert tokverify.open_model(MODEL).side.sha256 is None


def test_an_unreadable_model_is_an_error(tmp_path):
    with pytest.raises(TokverifyError, match="no such file"):
        tokverify.open_model(tmp_path / "absent.gguf")
