"""The composite action: run its steps with bash as GitHub's runner does, with inputs that try to be executed."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import yaml

from support.paths import ROOT
from support.selection import thinned
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.writer import write_gguf

SAMPLE = ROOT / "tokverify" / "sample"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
PROGRAM = """\
#!/bin/bash
printf "%s\\0" "$@" >> called
if [ "$3" = wheel ]; then mkdir -p "$7" && touch "$7/tokverify-0-py3-none-any.whl"; fi
"""
HOSTILE = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "' ; touch pwned '",
    '" ; touch pwned "',
    "x\ntouch pwned",
]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """Change to a directory with a model and its reference, where a program `python` records its arguments."""
    for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model"):
        shutil.copy(SAMPLE / name, tmp_path / name)
    (tmp_path / "ours.yaml").write_text("cases:\n  - {id: spaces, text: 'a   word', note: n}\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python").write_text(PROGRAM)
    (programs / "python").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    monkeypatch.setenv("GITHUB_ACTION_PATH", "/an action")
    monkeypatch.setenv("RUNNER_TEMP", str(tmp_path / "a temp"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    (tmp_path / "a temp").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_step(name: str, work: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run a step with inputs, whose names have `_` for `-`; as on GitHub, missing inputs have their default."""
    known = {key: described.get("default", "") for key, described in ACTION["inputs"].items()}
    known |= {key.replace("_", "-"): value for key, value in inputs.items()}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: known[found[1]], text)

    step = STEPS[name]
    script = work / "step.sh"
    script.write_text(filled(step["run"]))
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],  # noqa: S607 - the shell of the action
        cwd=work / filled(step.get("working-directory", ".")),
        env={**os.environ, **{variable: filled(text) for variable, text in step.get("env", {}).items()}},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_broken_tokenizer_is_annotated(work):
    inputs = {"reference": "sample.tokenizer.model", "cases": "ours.yaml\n"}
    done = run_step("Verify", work, model="sample.gguf", **inputs)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    done = run_step("Verify", work, model="sample-broken.gguf", **inputs)
    assert done.returncode == 1
    assert "::error file=ours.yaml,line=2," in done.stdout


def test_what_only_audit_and_chat_find_fails(work):
    spec = read_spec(work / "sample.gguf")
    template = "{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}"
    (work / "sample.gguf").unlink()
    write_gguf(work / "sample.gguf", replace(spec, add_bos=True, chat_template=template))
    done = run_step("Verify", work, model="sample.gguf", reference="sample.tokenizer.model", cases="ours.yaml")
    assert done.returncode == 1
    assert "TV114" in done.stdout


def test_every_line_of_an_input_is_one_argument(work):
    odd = work / "a dir" / "$(touch pwned) ;'x.gguf"
    odd.parent.mkdir()
    shutil.copy(SAMPLE / "sample.gguf", odd)
    arguments = "--cases\n../ours.yaml\n\n--report\njunit=out $(touch pwned);.xml"
    inputs = {"model": f"{odd.name}\n", "reference": "../sample.tokenizer.model", "working_directory": "a dir"}
    done = run_step("Verify", work, arguments=arguments, **inputs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (odd.parent / "out $(touch pwned);.xml").is_file()
    assert not list(work.rglob("pwned"))


def test_shipped_suites_can_be_combined_with_others(work):
    arguments = "--only\nrun\n--report\njson=out.json"
    inputs = {"reference": "sample.tokenizer.model", "cases": "shipped\nours.yaml", "arguments": arguments}
    done = run_step("Verify", work, model="sample.gguf", **inputs)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((work / "out.json").read_text())
    assert report["options"]["cases"] == ["shipped", "ours.yaml"]
    suites = {result["case"]["suite"] for result in report["models"][0]["run"]["results"]}
    assert {"seed", "ours"} <= suites


def test_without_inputs_the_configuration_is_used(work):
    (work / "tokverify.toml").write_text(
        '[[models]]\nmodel = "sample.gguf"\nreference = "sample.tokenizer.model"\ncases = ["ours.yaml"]\n'
    )
    assert run_step("Verify", work).returncode == 0


@pytest.mark.parametrize(
    ("text", "name"),
    thinned(5, product(["$(touch pwned)", "' ; touch pwned '", "--help"], ["model", "reference", "cases", "baseline"])),
)
def test_no_input_is_executed_or_parsed_as_an_option(work, name, text):
    done = run_step("Verify", work, **{"model": "sample.gguf", name: text})
    assert done.returncode == 2, done.stderr
    # Every line of the report says that the text names nothing that could be checked.
    lines = done.stdout.splitlines()
    assert lines
    assert all(line.startswith("::error file=") and "could not be performed::" in line for line in lines), lines
    assert not list(work.rglob("pwned"))


def test_extras_are_installed(work):
    assert run_step("Install tokverify", work, extras="tiktoken, llama-cpp").returncode == 0
    called = (work / "called").read_text().split("\0")
    wheels = str(work / "a temp" / "tokverify-wheel")
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, "/an action"]
    install = ["-m", "pip", "install", "--quiet", f"{wheels}/tokverify-0-py3-none-any.whl[tiktoken, llama-cpp]", ""]
    assert called == [*build, *install]
    assert run_step("Install tokverify", work).returncode == 0
    again = (work / "called").read_text().split("\0")
    assert again[len(called) - 1 :] == [*install[:-2], f"{wheels}/tokverify-0-py3-none-any.whl", ""], "built once"


def test_outputs_say_how_the_check_ended_and_where_its_report_is(work):
    for model, code in (("sample.gguf", 0), ("sample-broken.gguf", 1), ("none.gguf", 2)):
        (work / "output").unlink(missing_ok=True)
        done = run_step("Verify", work, model=model, reference="sample.tokenizer.model", cases="ours.yaml")
        assert done.returncode == code
        outputs = dict(line.split("=", 1) for line in (work / "output").read_text().splitlines())
        assert outputs["exit-code"] == str(code)
        assert json.loads(Path(outputs["report"]).read_text())["summary"]["exit_code"] == code


def test_the_source_is_identified_by_the_content_of_its_files(work, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTION_PATH", str(work / "cases"))
    (work / "cases" / "a b").mkdir(parents=True)
    digests = set()
    for text in ("1", "2", "1"):
        (work / "cases" / "a b" / "file").write_text(text)
        (work / "output").unlink(missing_ok=True)
        assert run_step("Identify the source", work).returncode == 0
        digests.add((work / "output").read_text())
    assert len(digests) == 2


@pytest.mark.parametrize("text", [*HOSTILE, "x] @ https://example.com/x.whl"])
def test_extras_that_are_not_names_are_rejected(work, text):
    done = run_step("Install tokverify", work, extras=text)
    assert (done.returncode, done.stdout) == (2, "::error::extras: expected names separated by commas\n")
    assert not list(work.glob("called"))
    assert not list(work.rglob("pwned"))


@pytest.mark.parametrize("step", STEPS)
def test_no_script_contains_an_input(step):
    assert "${{" not in STEPS[step]["run"]


@pytest.mark.parametrize("step", STEPS)
def test_scripts_pass_shellcheck(step):
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    command = ["shellcheck", "--shell=bash", "-"]
    done = subprocess.run(command, input=STEPS[step]["run"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
