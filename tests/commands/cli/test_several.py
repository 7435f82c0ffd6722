"""Test `tokverify run`, `audit` and `check` with several models: one table, one page, one SARIF file."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from huggingface_hub import constants
from lxml import etree

from support.fake_hub import COMMIT
from support.hub_fixtures import hub, pauses
from support.paths import ROOT, SAMPLE
from tokverify.commands.cli import main

__all__ = ["hub", "pauses"]

CASES = ["-r", "sample.tokenizer.model", "--cases", "own.yaml"]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with one good model and one bad one, each below the directory `models`."""
    (tmp_path / "models" / "more").mkdir(parents=True)
    shutil.copy(SAMPLE / "sample.gguf", tmp_path / "models" / "good.gguf")
    shutil.copy(SAMPLE / "sample-broken.gguf", tmp_path / "models" / "more" / "bad.gguf")
    shutil.copy(SAMPLE / "sample.tokenizer.model", tmp_path)
    (tmp_path / "own.yaml").write_text("suite: own\ncases:\n- {id: word, text: test}\n")
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_an_audit_of_a_directory_is_one_report():
    result = invoke("audit", "models", "-f", "json", "--report", "sarif=all.sarif", "-o", "all.json")
    assert result.exit_code == 1, result.output
    report = json.loads(Path("all.json").read_text())
    assert (report["kind"], report["options"]["model"]) == ("check", ["models/good.gguf", "models/more/bad.gguf"])
    assert [(model["name"], model["run"]) for model in report["models"]] == [("good", None), ("bad", None)]
    assert all(model["audit"]["reference"] is None for model in report["models"])
    rules = {result["ruleId"] for run in json.loads(Path("all.sarif").read_text())["runs"] for result in run["results"]}
    assert "TV120" in str(rules)


def test_an_audit_of_several_models_applies_its_options():
    result = invoke("audit", "models/good.gguf", "models/more/bad.gguf", "--ignore", "TV120", "-q")
    assert (result.exit_code, result.stdout) == (
        0,
        "2 models: nothing that was checked fails; nothing was compared with a reference\n",
    )


def test_junit_names_the_model_in_each_suite_and_test():
    result = invoke("run", "models/**/*.gguf", *CASES, "-f", "junit")
    root = etree.fromstring(result.stdout.encode())
    names = [(test.get("classname"), test.get("name")) for test in root.iter("testcase")]
    assert len(set(names)) == len(names)
    assert {("good.own", "word"), ("bad.own", "word")} <= set(names)
    assert {"good: own", "bad: own"} <= {suite.get("name") for suite in root}


def test_a_run_of_several_models_is_one_report():
    result = invoke("run", "models/**/*.gguf", *CASES, "-q")
    assert result.exit_code == 1
    assert result.stdout.startswith("bad: 22 tokens are ordinary tokens")
    assert result.stdout.endswith("\n2 models: 1 fails (bad: run)\n")
    Path("models/bad2.gguf").write_bytes(Path("models/more/bad.gguf").read_bytes())
    result = invoke("run", "models/bad2.gguf", "models/more/bad.gguf", *CASES, "-q")
    assert result.stdout.endswith("\n2 models: 2 fail (bad2: run; bad: run)\n")
    Path("models/bad2.gguf").unlink()
    page = invoke("run", "models", *CASES, "-o", "all.html")
    assert page.exit_code == 1
    assert Path("all.html").read_text().count("<html") == 1
    assert all(f"<h2>{name}: run</h2>" in Path("all.html").read_text() for name in ("good", "bad"))


@pytest.mark.process
def test_a_program_can_be_one_of_several_models():
    program = f"command:{sys.executable} {ROOT / 'tests/support/encoder_program.py'} {SAMPLE / 'sample.gguf'}"
    both = invoke("run", program, "models/good.gguf", *CASES, "-f", "json")
    assert both.exit_code == 0, both.stderr
    runs = [model["run"]["results"] for model in json.loads(both.stdout)["models"]]
    assert [[result["status"] for result in results] for results in runs] == [["match"], ["match"]]
    alone = json.loads(invoke("check", program, *CASES, "-f", "json").stdout)
    notes = [note["message"] for note in alone["models"][0]["notes"]]
    assert notes == ["the rules apply to GGUF files only", "only a file has chat templates to check"]


@pytest.mark.process
@pytest.mark.parametrize("command", [["run", *CASES], ["audit"], ["check", *CASES]])
@pytest.mark.slow
def test_models_that_are_checked_at_the_same_time_have_the_same_report(command: list[str]):
    one, two = (invoke(*command, "models", "models/none.gguf", "-f", "json", "-j", jobs) for jobs in ("1", "2"))
    assert (one.exit_code, one.stdout) == (two.exit_code, two.stdout)
    assert [model["name"] for model in json.loads(two.stdout)["models"]] == ["good", "bad", "none"]


def test_a_directory_with_one_model_is_that_model():
    result = invoke("run", "models/more", *CASES, "-f", "json")
    assert json.loads(result.stdout)["kind"] == "run"


def test_a_model_that_cannot_be_read_does_not_hide_the_others():
    Path("models/none.gguf").write_text("none")
    result = invoke("audit", "models")
    assert result.exit_code == 2
    assert "not a GGUF file" in " ".join(result.stdout.split())
    assert "TV120" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "models", *CASES, "--accept", "--baseline", "b.yaml"], "say why with --reason"),
        (["run", "models", "--streaming"], "--streaming works with one MODEL"),
        (["run", "models", "-r", "sample.tokenizer.model", "-r", "rebuilt"], "several references works with one MODEL"),
        (["audit", "models", "tokenizer.json"], "only one MODEL is allowed unless all are GGUF files"),
        (["audit", "z*.gguf"], "no GGUF file matches; check the path"),
        (["check", "z*.gguf"], "no GGUF file matches; check the path"),
        (["audit", "models", "-r", "sample.tokenizer.model", "-o", "sample.tokenizer.model"], "sample.tokenizer.model"),
        (["audit"], "Missing argument 'MODEL...'"),
    ],
)
def test_what_does_not_fit_several_models_is_an_error(arguments, message):
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_all_models_of_an_organization_are_audited_for_their_metadata(hub):
    for name, file in (("org/good", "models/good.gguf"), ("org/bad", "models/more/bad.gguf")):
        hub.repositories[name] = {"x-Q4_K_M.gguf": Path(file).resolve(), "x-Q8_0.gguf": Path(file).resolve()}
    result = invoke("audit", "hf:org/*", "-f", "json")
    assert result.exit_code == 1, result.output
    models = json.loads(result.stdout)["models"]
    assert [model["name"] for model in models] == ["hf:org/bad", "hf:org/good"]
    assert [model["audit"]["source"] for model in models] == [
        f"hf:org/{name}:x-Q4_K_M.gguf@{COMMIT}" for name in ("bad", "good")
    ]


def test_one_repository_that_is_gone_fails_by_itself(hub, monkeypatch):
    hub.repositories["org/good"] = {"x.gguf": Path("models/good.gguf").resolve()}
    result = invoke(
        "check", "hf:org/good", "hf:org/gone", "--only", "audit", "-r", "sample.tokenizer.model", "-f", "json"
    )
    assert result.exit_code == 2
    good, gone = json.loads(result.stdout)["models"]
    assert good["audit"]["findings"] == []
    assert "hf:org/gone: HTTP 401" in gone["notes"][0]["message"]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert invoke("audit", "hf:org/good").exit_code == 0


def test_a_configuration_names_remote_models_but_no_local_store(hub):
    hub.repositories["org/good"] = {"x.gguf": Path("models/good.gguf").resolve()}
    settings = '[[models]]\nname = "fox"\nmodel = "{}"\nreference = "sample.tokenizer.model"\ncases = ["own.yaml"]\n'
    Path("tokverify.toml").write_text(settings.format("hf:org/good"))
    assert invoke("check", "-q").exit_code == 0
    assert invoke("run", "fox", "-q").exit_code == 0
    Path("tokverify.toml").write_text(settings.format("ollama:fox"))
    result = invoke("check")
    assert result.exit_code == 2
    assert "leads to ollama:fox, outside of the repository" in result.stderr
    assert "ollama:fox: not found" in invoke("check", "--allow-outside").stdout
    for reference in ("ollama:fox", "gguf:lmstudio:fox", "llama.cpp:ollama:fox"):
        Path("tokverify.toml").write_text(f'[[models]]\nmodel = "models/good.gguf"\nreference = "{reference}"\n')
        assert "outside of the repository" in invoke("check").stderr
