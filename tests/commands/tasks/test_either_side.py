"""Either side of a comparison can be any tokenizer: a server, a library, a program, or another GGUF file."""

import json
import shlex
import shutil
import sys

import pytest
from click.testing import CliRunner, Result

from support.paths import ROOT, SAMPLE
from support.stand_in import StandIn
from tokverify import convert_tokenizer, load_gguf, open_model, verify_model
from tokverify.commands.cli import main
from tokverify.commands.tasks.opening import open_reference, open_subject
from tokverify.compare.opened import OpenedReference
from tokverify.errors import TokverifyError

MODEL, BROKEN = (str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf"))
LIBRARY = f"sentencepiece:{SAMPLE / 'sample.tokenizer.model'}"
SUITE = ["--suite", "seed"]
ENCODER_PROGRAM = ROOT / "tests" / "support" / "encoder_program.py"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def report_of(*arguments: str) -> dict:
    return json.loads(invoke(*arguments, "-f", "json").stdout)


@pytest.fixture(scope="module")
def server():
    with StandIn(load_gguf(MODEL)) as running:
        yield running.address


@pytest.mark.parametrize("reference", [MODEL, LIBRARY])
def test_a_server_is_verified(server, reference):
    report = report_of("run", server, "-r", reference, *SUITE)
    assert report["actual"]["name"] == "llama-server"
    assert report["actual"]["source"].startswith(f"{server}, ")
    assert "exposes neither" in report["actual"]["caveat"]
    assert report["summary"]["mismatch"] == report["summary"]["error"] == 0
    assert report["summary"]["match"] == 16
    assert {"llama-server", "python"} <= set(report["versions"])


def test_a_library_is_verified_against_a_gguf_file():
    report = report_of("run", LIBRARY, "-r", MODEL, *SUITE)
    assert (report["actual"]["name"], report["expected"]["name"]) == ("sentencepiece", "sample")
    assert report["expected"]["caveat"].startswith("tokverify encodes both sides")
    assert report["expected"]["fingerprint"] == load_gguf(MODEL).fingerprint
    assert report["summary"]["mismatch"] == 0


def test_two_gguf_files_are_compared_and_the_difference_is_diagnosed():
    report = report_of("run", BROKEN, "-r", MODEL, *SUITE)
    assert report["summary"]["mismatch"] > 0
    assert report["diagnosis"]["explanations"]
    assert report["undiagnosed"] == ""


@pytest.mark.parametrize("format_name", ["table", "markdown", "html"])
def test_a_server_that_differs_is_not_diagnosed_and_the_report_says_so(server, format_name):
    result = invoke("run", server, "-r", BROKEN, *SUITE, "-f", format_name)
    assert result.exit_code == 1
    assert "llama-server cannot be changed, so no change to it can be tried" in " ".join(result.stdout.split())


def test_nobody_is_told_about_a_diagnosis_that_was_not_asked_for(server):
    assert report_of("run", server, "-r", BROKEN, *SUITE, "--no-diagnose")["undiagnosed"] == ""


def test_a_server_is_fuzzed(server):
    report = report_of("fuzz", server, "-r", BROKEN, "--texts", "60", "--no-replay")
    assert report["causes"]
    assert report["report"]["undiagnosed"].startswith("llama-server cannot be changed")
    assert report_of("fuzz", server, "-r", MODEL, "--texts", "60", "--no-replay")["causes"] == []


@pytest.mark.parametrize("arguments", [["run"], ["fuzz", "--texts", "9"]])
@pytest.mark.parametrize("reference", ["rebuilt", "llama.cpp", None])
def test_a_reference_that_needs_a_file_is_an_error(server, arguments, reference):
    named = ["-r", reference] if reference else []
    result = invoke(arguments[0], server, *named, *arguments[1:])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_no_reference_is_looked_for_without_a_file(server):
    with pytest.raises(TokverifyError, match="a reference is looked for only if MODEL is a file; name one with -r"):
        verify_model(server)


@pytest.mark.parametrize("subject", [MODEL, f"gguf:{MODEL}", LIBRARY])
def test_a_tokenizer_is_not_compared_with_itself(subject):
    reference = subject.removeprefix("gguf:")
    with pytest.raises(TokverifyError, match="this is the tokenizer under test; name another one with -r"):
        open_reference(open_subject(subject), reference)


def test_a_copy_of_a_file_is_another_tokenizer(tmp_path):
    copy = tmp_path / "copy.gguf"
    shutil.copy(MODEL, copy)
    report = report_of("run", MODEL, "-r", str(copy), *SUITE)
    assert report["summary"]["exit_code"] == 0
    assert report["differences"] == []


def test_a_file_has_precedence_over_a_location(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODEL, tmp_path / "gguf:a")
    assert open_subject("gguf:a").encoder.name == "gguf:a"
    assert isinstance(open_subject(LIBRARY), OpenedReference)


def test_a_tokenizer_that_is_open_is_used_as_it_is(server):
    subject = open_subject(server)
    assert open_subject(subject) is subject


def test_commands_on_files_refuse_a_server(server):
    with pytest.raises(TokverifyError, match=r"not a file; this command needs a GGUF file"):
        open_model(server)


def test_what_a_server_exposes_about_a_text_is_explained(server):
    same = invoke("explain", server, "Hello", "-r", MODEL)
    assert same.exit_code == 0
    assert "not shown: llama-server returns only ids" in same.stdout
    assert "sample returns the same ids" in same.stdout
    text = "word   with"
    different = invoke("explain", server, text, "-r", BROKEN)
    assert "sample-broken returns different ids" in different.stdout
    document = json.loads(invoke("explain", server, text, "-r", BROKEN, "--json").stdout)
    assert document["kind"] == "explain exposed"
    assert [token["id"] for token in document["tokens"]] == load_gguf(MODEL).encode(text)
    assert (document["matches"], document["stretches"]) == (None, None)
    assert document["difference"]["blocks"]


def test_the_stages_of_a_library_are_explained(tmp_path):
    path = tmp_path / "tokenizer.json"
    convert_tokenizer(SAMPLE / "sample.tokenizer.model", path, [], count=0)
    control = min(load_gguf(MODEL).control_texts)
    shown = invoke("explain", f"tokenizers:{path}", f"Hello{control}a").stdout
    assert "not shown" not in shown
    assert f"1 match: {control}" in shown
    document = json.loads(invoke("explain", f"tokenizers:{path}", f"Hello{control}", "--json").stdout)
    assert [match["piece"] for match in document["matches"]] == [control]
    assert document["stretches"][0]["span"] == [0, 5]
    assert document["reference"] is None


@pytest.mark.process
@pytest.mark.parametrize(
    ("lines", "expected"),
    [("fox\nfox!\n! a\nHello  world\n", (0, 2, 2)), ("ab!\n!\n", (2, 0, 2)), ("ab\nc\n", (0, 2, 0))],
)
@pytest.mark.parametrize("is_reversed", [False, True])
def test_lines_that_a_program_does_not_support_are_skipped_and_counted(tmp_path, lines, expected, is_reversed):
    (tmp_path / "lines.txt").write_text(lines)
    program = f"command:{shlex.join([sys.executable, str(ENCODER_PROGRAM), MODEL, 'selective'])}"
    sides = [MODEL, program][:: -1 if is_reversed else 1]
    result = invoke("diff", *sides, *SUITE, "--lines", str(tmp_path / "lines.txt"), "-f", "json")
    effect = json.loads(result.stdout)["effect"]
    assert (result.exit_code, effect["lines"], effect["skipped_lines"]) == expected
    assert effect["changed_lines"] == 0
