"""Test `tokverify cases record`, and that `run` needs no reference afterwards."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from tokverify.cases.loading import shipped_suites
from tokverify.commands.cli import main

MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)
SUITE = """\
# Ours.
suite: ours
cases:
  - id: spaces
    text: "two  spaces\\u00a0"  # kept as it is
  - {id: plain, text: plain}
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def record(*arguments: str) -> Result:
    return run("cases", "record", *arguments)


@pytest.fixture
def suite(tmp_path) -> Path:
    path = tmp_path / "ours.yaml"
    path.write_text(SUITE)
    return path


@pytest.fixture
def lone(tmp_path) -> str:
    """The sample without a reference next to it."""
    return str(shutil.copy(MODEL, tmp_path / "sample.gguf"))


def test_recorded_suites_run_without_the_reference(suite, lone):
    result = record(lone, "-r", REFERENCE, "--cases", str(suite))
    assert result.exit_code == 0, result.output
    assert "expected of  sample" in result.stdout
    assert "2 cases: 2 added" in result.stdout
    assert "# kept as it is" in suite.read_text()
    assert '"two  spaces\\u00a0"' in suite.read_text()
    assert run("cases", "check", str(suite)).exit_code == 0
    report = json.loads(run("run", lone, "--cases", str(suite), "-f", "json").stdout)
    assert (report["expected"]["name"], report["summary"]["match"]) == ("expect", 2)


def test_a_changed_model_fails_recorded_suites(suite, lone):
    record(lone, "-r", REFERENCE, "--cases", str(suite))
    shutil.copy(BROKEN, lone)
    result = run("run", lone, "--cases", str(suite))
    assert result.exit_code == 1
    assert "MISMATCH ours/spaces" in result.stdout


def test_recording_again_writes_nothing(suite, lone):
    record(lone, "-r", REFERENCE, "--cases", str(suite))
    before = suite.stat()
    result = record(lone, "-r", REFERENCE, "--cases", str(suite))
    assert result.exit_code == 0
    assert "untouched    1 file" in result.stdout
    assert "2 cases: 2 unchanged" in result.stdout
    assert (suite.stat().st_mtime_ns, suite.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_wrong_expectations_are_corrected(suite, lone):
    suite.write_text(SUITE.replace("text: plain", "text: plain, expect: {sample: [1], other: [2]}"))
    result = record(lone, "-r", REFERENCE, "--cases", str(suite))
    assert "2 cases: 1 added, 1 changed" in result.stdout
    assert "other: [2]" in suite.read_text()
    assert "sample: [1]" not in suite.read_text()


def test_the_models_mistakes_are_reported_and_not_recorded(suite):
    result = record(BROKEN, "-r", REFERENCE, "--cases", str(suite))
    assert result.exit_code == 0
    assert "the model itself gives other ids, so a run will fail" in result.stdout
    assert "ours/spaces" in result.stdout
    assert run("run", BROKEN, "--cases", str(suite)).exit_code == 1
    assert "sample-broken: " in suite.read_text()


def test_ids_can_be_recorded_under_another_name(suite, lone):
    result = record(lone, "-r", REFERENCE, "--cases", str(suite), "--name", "no")
    assert "a run on that file will not use these ids" in " ".join(result.stdout.split())
    assert '"no": [' in suite.read_text()
    result = record(lone, "-r", REFERENCE, "--cases", str(suite), "--name", "llama")
    assert "will not use these ids" not in result.stdout


def test_only_selected_cases_are_recorded(suite, lone):
    assert "1 case: 1 added" in record(lone, "-r", REFERENCE, "--cases", str(suite), "-k", "plain").stdout
    assert suite.read_text().count("sample") == 1


def test_shipped_suites_are_copied(tmp_path, lone):
    copies = tmp_path / "copies"
    result = record(lone, "-r", "rebuilt", "-o", str(copies), "--suite", "seed", "--suite", "tabs")
    assert result.exit_code == 0, result.output
    assert "caveat: " in result.stdout
    assert sorted(path.name for path in copies.iterdir()) == ["seed.yaml", "tabs.yaml"]
    assert "sample:" not in (shipped_suites() / "tabs.yaml").read_text()
    assert run("cases", "check", str(copies)).exit_code == 0
    assert run("run", lone, "--cases", str(copies), "-q").exit_code == 0
    again = record(lone, "-r", "rebuilt", "-o", str(copies), "--suite", "seed", "--suite", "tabs")
    assert "untouched    2 files" in again.stdout


def test_shipped_suites_are_never_changed(suite, lone):
    result = record(lone, "-r", REFERENCE, "--cases", "shipped", "--cases", str(suite))
    assert result.exit_code == 2
    assert "a directory for copies of the shipped ones" in result.stderr


def test_a_case_that_the_reference_cannot_encode_is_listed(suite, lone):
    suite.write_text(SUITE + "  - {id: control, text: <bos>x}\n")
    result = record(lone, "-r", REFERENCE, "--cases", str(suite))
    assert result.exit_code == 1
    assert "NOT RECORDED sentencepiece: does not support parse_special" in result.stdout
    assert "1 case  ours/control" in result.stdout
    assert "3 cases: 2 added, 1 not recorded" in result.stdout
    assert record(lone, "-r", REFERENCE, "--cases", str(suite), "-k", "control").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the suites to record in"),
        (["--cases", "{tmp}/absent.yaml"], "cannot read the cases"),
        (["--cases", "{tmp}/ours.yaml", "-k", "zzz"], "no case selected"),
        (["--cases", "{tmp}/ours.yaml", "-r", "expect"], "works only with `tokverify run`"),
        (["--cases", "{tmp}/ours.yaml", "-r", "{tmp}/absent.json"], "no such file"),
        (["--cases", "{tmp}/ours.yaml", "-o", "{tmp}/ours.yaml"], "not a directory"),
        (["--cases", "{tmp}/ours.yaml", "-o", "{tmp}/full"], "already exists, and differs from the copy"),
        (
            ["--cases", "{tmp}/ours.yaml", "--cases", "{tmp}/deep", "-o", "{tmp}/new"],
            "would be copied to the same file",
        ),
        (["--cases", "{tmp}/ours.yaml", "-o", "{tmp}/no/where"], "No such file"),
        (["--cases", "{tmp}/alias.yaml"], "write out aliases"),
    ],
)
def test_an_error_leaves_all_files_unchanged(arguments, message, suite, tmp_path, lone):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "ours.yaml").write_text(SUITE.replace("suite: ours", "suite: others"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "ours.yaml").write_text("mine")
    (tmp_path / "alias.yaml").write_text(
        "cases:\n- {id: a, text: x, expect: &e {g: [1]}}\n- {id: b, text: y, expect: *e}\n"
    )
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")}
    given = [argument.replace("{tmp}", str(tmp_path)) for argument in arguments]
    result = record(lone, *(given if "-r" in given else ["-r", REFERENCE, *given]))
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.yaml")} == before


def test_byte_order_marks_and_line_endings_are_kept(suite, lone):
    suite.write_bytes(b"\xef\xbb\xbf" + SUITE.replace("\n", "\r\n").encode())
    record(lone, "-r", REFERENCE, "--cases", str(suite))
    data = suite.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# Ours.\r\n")
    assert b"sample: [" in data
    assert b"\n" not in data.replace(b"\r\n", b"")
