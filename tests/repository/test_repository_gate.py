"""A repository that checks its tokenizer in CI: init, a change, the annotation, a baseline, its expiry."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from support.paths import ROOT
from support.selection import thinned
from tokverify.commands.cli import main

SAMPLE = ROOT / "tokverify" / "sample"
CASES = "cases:\n  - {id: plain, text: a word, note: n}\n  - {id: spaces, text: 'a   word', note: n}\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    subprocess.run(["git", "init", "-q"], check=True)  # noqa: S607 - the git on the path
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "ours.yaml").write_text(CASES)
    shutil.copy(SAMPLE / "sample.gguf", "model.gguf")
    shutil.copy(SAMPLE / "sample.tokenizer.model", "tokenizer.model")
    return tmp_path


def tokverify(*arguments: str):
    return CliRunner().invoke(main, list(arguments))


def run_workflow(directory: Path, summary: Path) -> subprocess.CompletedProcess[str]:
    """Run the last step of the generated workflow; the steps before it check out and install."""
    workflow = yaml.safe_load((directory / ".github" / "workflows" / "tokverify.yml").read_text())
    command = workflow["jobs"]["tokverify"]["steps"][-1]["run"]
    return bash(command, directory, {"GITHUB_STEP_SUMMARY": str(summary)})


def bash(command: str, directory: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],  # noqa: S607 - the shell of the workflow
        cwd=directory,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_init_run_change_annotation_baseline_expiry(repository):
    assert tokverify("init").exit_code == 0
    assert tokverify("run").exit_code == 0
    summary = repository / "summary.md"
    done = run_workflow(repository, summary)
    assert done.returncode == 0, done.stdout + done.stderr

    shutil.copy(SAMPLE / "sample-broken.gguf", "model.gguf")
    done = run_workflow(repository, summary)
    assert done.returncode == 1, done.stdout + done.stderr
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    [annotation] = [line for line in annotations if "file=cases/ours.yaml," in line]
    assert "file=cases/ours.yaml,line=3," in annotation
    assert "ours/spaces" in annotation
    assert "ours/spaces" in summary.read_text()

    updated = tokverify("check", "--accept", "--reason", "to be repaired")
    assert updated.exit_code == 0, updated.output
    done = run_workflow(repository, summary)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [line for line in done.stdout.splitlines() if line.startswith("::error ")]

    known = repository / "tokverify-accepted.yaml"
    known.write_text(known.read_text().replace("  reason:", "  expires: 2020-01-31\n  reason:"))
    done = run_workflow(repository, summary)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2020-01-31" in done.stdout


def test_a_model_outside_the_repository_is_reported_without_a_location(repository):
    assert tokverify("init").exit_code == 0
    model = SAMPLE / "sample-broken.gguf"
    command = ["run", str(model), "-r", "tokenizer.model", "-k", "extra-spaces"]
    result = tokverify(*command, "-f", "github")
    assert result.stdout.startswith("::error title=cause::")
    assert "::error title=mismatch%3A seed/extra-spaces::" in result.stdout
    assert "%0Ain cases/seed.yaml:" in result.stdout
    assert "file=" not in result.stdout
    [entry, *_] = json.loads(tokverify(*command, "-f", "gitlab").stdout)
    assert entry["location"] == {"path": "tokverify.toml", "lines": {"begin": 1}}
    (repository / "tokverify.toml").unlink()
    [entry, *_] = json.loads(tokverify(*command, "-f", "gitlab").stdout)
    assert entry["location"]["path"] == "."


@pytest.mark.parametrize("variable", thinned(2, ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"]))
def test_a_checkout_without_git_uses_the_workspace_of_the_runner(repository, monkeypatch, variable):
    shutil.rmtree(".git")
    shutil.copy(SAMPLE / "sample-broken.gguf", "model.gguf")
    monkeypatch.chdir("cases")
    command = ["run", "../model.gguf", "-r", "../tokenizer.model", "--cases", "ours.yaml", "-f", "github"]
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert "file=ours.yaml," in tokverify(*command).stdout
    monkeypatch.setenv(variable, str(repository))
    assert "file=cases/ours.yaml," in tokverify(*command).stdout


@pytest.mark.parametrize(
    ("git", "path"),
    thinned(
        3,
        [
            ("gitdir: ../.git/modules/cases\n", "cases/ours.yaml"),
            ("gitdir: ../../.git/modules/a/modules/cases\n", "cases/ours.yaml"),
            ("gitdir: /elsewhere/.git/worktrees/cases\n", "ours.yaml"),
            ("gitdir: ../.git/modules/a/worktrees/cases\n", "ours.yaml"),
            ("", "ours.yaml"),
            (None, "ours.yaml"),
        ],
    ),
)
def test_paths_in_a_submodule_are_relative_to_the_containing_repository(repository, monkeypatch, git, path):
    shutil.copy(SAMPLE / "sample-broken.gguf", "model.gguf")
    monkeypatch.chdir("cases")
    Path(".git").mkdir() if git is None else Path(".git").write_text(git)
    command = ["run", "../model.gguf", "-r", "../tokenizer.model", "--cases", "ours.yaml", "-f", "github"]
    assert f"::error file={path}," in tokverify(*command).stdout


@pytest.mark.slow
def test_several_models_can_be_verified_in_parallel(repository):
    shutil.copy(SAMPLE / "sample-broken.gguf", "twin.gguf")
    assert tokverify("init").exit_code == 0
    result = tokverify("run", "-j", "2")
    assert result.exit_code == 1, result.output
    assert "2 models: 1 fails (twin: run)" in result.stdout
    assert tokverify("run", "-q", "--report", "junit=out.xml").exit_code == 1
    assert tokverify("run", "-q", "--report", "junit=out-{name}.xml").exit_code == 1
    assert sorted(path.name for path in repository.glob("*.xml")) == ["out-model.xml", "out-twin.xml", "out.xml"]


def test_a_missing_model_does_not_prevent_others_from_being_verified(repository):
    shutil.copy(SAMPLE / "sample.gguf", "twin.gguf")
    assert tokverify("init").exit_code == 0
    (repository / "model.gguf").unlink()
    result = tokverify("run", "-q")
    assert result.exit_code == 2
    assert "2 models: 1 could not be checked (model: run)" in result.stdout
    result = tokverify("run")
    assert result.exit_code == 2
    assert "model.gguf: no such file" in result.stdout
    assert re.search(r"(\d+) cases: \1 match", result.stdout)


def test_the_configuration_can_name_reports(repository):
    assert tokverify("init").exit_code == 0
    configuration = repository / "tokverify.toml"
    configuration.write_text('reports = ["junit=out.xml"]\n' + configuration.read_text())
    assert tokverify("run").exit_code == 0
    assert (repository / "out.xml").is_file()
    configuration.write_text(configuration.read_text().replace("junit", "junk"))
    result = tokverify("run")
    assert result.exit_code == 2
    assert "tokverify.toml: reports: 'junk' is not a format" in result.stderr


def test_errors_of_models_are_escaped_and_one_per_line(repository):
    (repository / "cases" / "broken.yaml").write_text("cases:\n  - {id: a}\n  - {id: b}\n")
    (repository / "tokverify.toml").write_text(
        '[[models]]\nmodel = "model.gguf"\ncases = ["cases"]\n[[models]]\nmodel = "a\\u001b.gguf"\n'
        f'[[models]]\nname = "long"\nmodel = "{"x" * 300}.gguf"\n'
    )
    result = tokverify("run", "-f", "json")
    assert result.exit_code == 2, result.output
    models = json.loads(result.stdout)["models"]
    assert [model["name"] for model in models] == ["model", "a-", "long"]
    assert all(note["is_failure"] for model in models for note in model["notes"])
    shown = tokverify("run").output
    assert "could not be checked" in shown
    assert "\x1b" not in shown


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_ends_the_processes_of_several_models(repository):
    shutil.copy(SAMPLE / "sample.gguf", "twin.gguf")
    assert tokverify("init").exit_code == 0
    code = (
        "import os, sys; from tokverify.commands.cli import main; from tokverify.commands.tasks import check\n"
        "def wait(request, on_progress): open('begun', 'a').close(); import time; time.sleep(60)\n"
        "check.check_model = wait\n"
        "if __name__ == '__main__': main(['run', '-j', '2'])\n"
    )
    (repository / "patched.py").write_text(code)
    run = subprocess.Popen([sys.executable, "patched.py"], start_new_session=True, stderr=subprocess.PIPE, text=True)
    while not (repository / "begun").exists():
        assert run.poll() is None
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGINT)
    _, stderr = run.communicate(timeout=30)
    assert (run.returncode, stderr) == (130, "interrupted\n")
