"""Test `tokverify run` without a model: the configured models, with one report and one exit code."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main

SUITE = """\
suite: own
cases:
  - {id: word, text: test, tags: [plain]}
  - {id: tabs, text: "\\t\\t\\ttest", tags: [white]}
"""
MODELS = {"good": "sample.gguf", "broken": "sample-broken.gguf", "absent": "absent.gguf", "no-gguf": "suite.yaml"}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model"):
        shutil.copy(SAMPLE / name, tmp_path / name)
    (tmp_path / "suite.yaml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(*names: str, head: str = "", **keys: object) -> None:
    """Write a tokverify.toml with models of `MODELS`, each with additional `keys`."""
    common = {"reference": "sample.tokenizer.model", "cases": ["suite.yaml"]} | keys
    tables = []
    for name in names:
        lines = [
            f"{key} = {json.dumps(value)}" for key, value in ({"name": name, "model": MODELS[name]} | common).items()
        ]
        tables.append("\n".join(["[[models]]", *lines]))
    Path("tokverify.toml").write_text("\n".join([head, *tables]))


def run(*arguments: str, diagnoses: bool = False) -> Result:
    return CliRunner().invoke(main, ["run", *([] if diagnoses else ["--no-diagnose"]), *arguments])


@pytest.mark.parametrize(
    ("names", "exit_code"),
    thinned(
        2,
        [
            (["good"], 0),
            (["broken"], 1),
            (["absent"], 2),
            (["good", "broken"], 1),
            (["absent", "broken", "good"], 2),
            (["broken", "no-gguf"], 2),
        ],
    ),
)
def test_the_exit_code_is_the_highest_of_all_models(names, exit_code):
    configure(*names)
    assert run("-q").exit_code == exit_code


def test_a_model_that_cannot_be_read_does_not_keep_the_others_from_being_verified():
    configure("absent", "broken", "no-gguf", "good")
    result = run()
    assert result.stdout.count("MISMATCH own/tabs") == 1
    outcomes = [line.split()[:4] for line in result.stdout.partition("OUTCOME")[2].splitlines()]
    assert [line for line in outcomes if line[1:2] == ["run"]] == [
        ["absent", "run", "could", "not"],
        ["broken", "run", "fails", "2"],
        ["no-gguf", "run", "could", "not"],
        ["good", "run", "passes", "2"],
    ]
    assert result.stdout.splitlines()[-1].startswith("4 models: 1 fails (broken: run), 2 could not")
    assert result.exit_code == 2


def test_a_weak_reference_is_mentioned_in_the_summary():
    configure("good", reference="rebuilt")
    Path("tokverify.toml").write_text(Path("tokverify.toml").read_text() * 2)
    Path("tokverify.toml").write_text(Path("tokverify.toml").read_text().replace("good", "again", 1))
    result = run()
    assert result.exit_code == 0
    outcome = " ".join(result.stdout.partition("OUTCOME")[2].split())
    assert "the reference is rebuilt from the GGUF file's own data" in outcome


@pytest.mark.process  # starts processes
@pytest.mark.slow
def test_parallel_and_serial_runs_give_the_same_output():
    configure("good", "absent", "broken", head='reports = ["json={name}.json"]')
    reports = []
    for jobs in ("1", "2"):
        result = run("-j", jobs, diagnoses=True)
        found = json.loads(Path("broken.json").read_text())
        reports.append((result.stdout, result.stderr, result.exit_code, found["summary"], found["results"]))
        assert "setting the type of 30 tokens" in result.stdout
    assert reports[0] == reports[1]


def test_a_log_with_annotations_includes_the_verdict():
    configure("good", "broken")
    result = run("--report", "github=-")
    assert "model:" not in result.stdout
    assert result.stderr == "2 models: 1 fails (broken: run)\n"
    assert run("--report", "github=-", "-q").stderr == ""


def test_each_model_gets_its_own_reports():
    configure("good", "broken", head='reports = ["junit={name}.xml", "json={name}.json"]')
    result = run()
    assert sorted(path.name for path in Path().glob("*.xml")) == ["broken.xml", "good.xml"]
    assert [json.loads(Path(f"{name}.json").read_text())["actual"]["name"] for name in ("good", "broken")] == [
        "sample",
        "sample-broken",
    ]
    assert "the reports are in good.xml, good.json, broken.xml, broken.json" in result.stderr


@pytest.mark.slow
def test_configured_report_paths_are_relative_to_the_configuration(directory, monkeypatch):
    configure("good", "broken", head='reports = ["junit={name}.xml"]')
    (directory / "deep").mkdir()
    monkeypatch.chdir(directory / "deep")
    result = run()
    assert sorted(path.name for path in directory.glob("*.xml")) == ["broken.xml", "good.xml"]
    assert result.exit_code == 1
    assert "the reports are in ../good.xml, ../broken.xml" in result.stderr
    assert run("--report", "json={name}.json").exit_code == 1
    assert sorted(path.name for path in Path().iterdir()) == ["broken.json", "good.json"]


@pytest.mark.parametrize(
    ("head", "arguments", "place"),
    [
        ('reports = ["junit=all.xml"]', [], "all.xml"),
        ("", ["--report", "junit=all.xml"], "all.xml"),
        ("", ["-o", "all.json"], "all.json"),
    ],
)
def test_one_report_file_is_about_all_models(head, arguments, place):
    configure("good", "broken", head=head)
    assert run(*arguments).exit_code == 1
    assert all(name in Path(place).read_text() for name in ("good", "broken"))
    Path(place).unlink()
    configure("good", head=head)
    assert run(*arguments).exit_code == 0
    assert Path(place).is_file()


@pytest.mark.slow
def test_command_line_options_override_the_configuration(directory):
    configure("good", "broken", head='reports = ["junit={name}.xml"]', tags=["white"])
    assert run("-q").exit_code == 1
    result = run("-q", "--tag", "plain", "--report", "json={name}.json", "--fail-on", "none")
    assert result.exit_code == 0, result.output
    names = ("good", "broken")
    reports = [json.loads(Path(f"{name}.json").read_text()) for name in names]
    assert [[result["case"]["id"] for result in report["results"]] for report in reports] == [["word"], ["word"]]
    for name in names:
        Path(f"{name}.xml").unlink()
    run("-r", "rebuilt")
    assert "rebuilt" in Path("broken.xml").read_text()


def test_quiet_counts_failures():
    configure("good", "broken")
    result = run("-q")
    assert result.stdout.endswith("\n2 models: 1 fails (broken: run)\n")
    assert result.stderr == ""


def test_json_is_one_document():
    configure("good", "broken")
    report = json.loads(run("-f", "json").stdout)
    assert [(model["name"], model["run"]["actual"]["name"]) for model in report["models"]] == [
        ("good", "sample"),
        ("broken", "sample-broken"),
    ]


def test_the_configured_number_of_jobs_is_used_unless_another_is_given(monkeypatch):
    used = []
    monkeypatch.setattr("tokverify.commands.cli.run.check_several", lambda _, __, jobs, **___: used.append(jobs) or 0)
    configure("good", "broken", head="jobs = 2")
    for arguments in ([], ["-j", "3"]):
        run(*arguments)
    assert used == [2, 3]


def test_one_baseline_accepts_the_failures_of_several_models():
    configure("good", "broken")
    assert run("--baseline", "known.yaml", "--accept", "--reason", "being repaired").exit_code == 0
    configure("good", "broken", baseline="known.yaml")
    result = run()
    assert result.exit_code == 0
    assert "broken  run   passes" in result.stdout
    assert "1 known" in result.stdout


@pytest.mark.slow
def test_only_what_failed_last_is_run_for_each_model():
    configure("good", "broken")
    run("-q")
    models = json.loads(run("--lf", "-f", "json").stdout)["models"]
    names = [[result["case"]["id"] for result in model["run"]["results"]] for model in models]
    assert names == [["word", "tabs"], ["tabs"]]


def test_without_configured_models_the_command_fails():
    result = run()
    assert result.exit_code == 2
    assert "name a MODEL, or configure models in tokverify.toml; `tokverify init` creates that file" in result.stderr


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ('reports = ["xml=x"]', "tokverify.toml: reports: 'xml' is not a format; write FORMAT=FILE"),
        ('reports = ["junit"]', "tokverify.toml: reports: 'junit' does not name a file; write junit=FILE"),
        ('reports = ["junit=absent/{name}.xml"]', "absent/good.xml: cannot be written: absent is not a directory"),
        ('reports = ["json={name}.json", "json={name}.json"]', "two reports go to good.json"),
        ("jobs = 0", "tokverify.toml: jobs must be a positive integer"),
    ],
)
def test_a_wrong_configuration_is_an_error_before_any_work(head, complaint):
    configure("good", "broken", head=head)
    result = run()
    assert result.exit_code == 2
    assert complaint in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_report_that_would_overwrite_a_model_is_an_error():
    configure("good", "broken", head='reports = ["json={name}.gguf"]')
    shutil.copy("sample.gguf", "good.gguf")
    configured = Path("tokverify.toml").read_text().replace("sample.gguf", "good.gguf")
    Path("tokverify.toml").write_text(configured)
    before = Path("good.gguf").read_bytes()
    assert run().exit_code == 2
    assert Path("good.gguf").read_bytes() == before
