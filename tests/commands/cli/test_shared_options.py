"""The options of reports do the same in every command that writes one, found by inspecting the program."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.gguf_maker import string
from support.paths import DATA, SAMPLE
from support.program import list_commands
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.compare.convert.json_writer import write_json
from tokverify.references import environment
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.load import load_gguf

MODEL = str(SAMPLE / "sample.gguf")
BROKEN = str(SAMPLE / "sample-broken.gguf")
REFERENCE = str(SAMPLE / "sample.tokenizer.model")
pytestmark = pytest.mark.process  # takes seconds

FEW = ["-k", "tabs/before-word-3", "-k", "seed/extra-spaces"]

COMMANDS: dict[str, list[str]] = {
    "run": [BROKEN, "-r", REFERENCE, "--no-diagnose", *FEW],
    "check": [BROKEN, "-r", REFERENCE, "--only", "audit"],
    "fuzz": [BROKEN, "-r", REFERENCE, "--texts", "200", "--no-replay", "--no-diagnose"],
    "corpus verify": [BROKEN, str(DATA / "sample_text.txt"), "-r", MODEL, "-j", "1"],
    "diff": [MODEL, BROKEN, *FEW],
    "corpus merge": ["{directory}/state"],
    "corpus retry": ["{directory}/state", "-j", "1"],
    "canonical": ["{directory}/log.jsonl", MODEL],
    "chat": ["{directory}/chat.gguf"],
    "versions": [BROKEN, "-r", "{directory}/tokenizer.json", "--env", "tokenizers==1", *FEW],
    "audit": [BROKEN, "-r", REFERENCE],
    "stats": [MODEL],
    "inspect": [MODEL, "--texts", "shipped"],
    "stream": [MODEL, *FEW],
    "conformance": [MODEL, "-r", REFERENCE, "--texts", "9"],
    "report show": ["{directory}/saved.json"],
    "report diff": ["{directory}/saved.json", "{directory}/saved.json"],
}
"""Command -> arguments with which it writes a report."""

WITH_FILE: dict[str, list[str]] = {
    "fix": [BROKEN, "-r", REFERENCE, "--dry-run"],
    "convert": [MODEL, "-o", "{directory}/made.json", "--force", "--texts", "9"],
    "learn": ["-r", REFERENCE, "-o", "{directory}/made.gguf", "--force", "--texts", "9"],
}
"""The same for commands whose result is another file, so that -o names that one."""

TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


def run(name: str, directory: Path, *options: str) -> Result:
    arguments = [argument.format(directory=directory) for argument in (COMMANDS | WITH_FILE)[name]]
    return CliRunner().invoke(main, [*name.split(), *arguments, *options])


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    """Make a directory with everything that the commands read besides the sample."""
    made = tmp_path_factory.mktemp("made")
    write_patched(Path(MODEL), made / "chat.gguf", {"tokenizer.chat_template": string(TEMPLATE)})
    write_json(made / "tokenizer.json", load_gguf(MODEL).spec)
    (made / "log.jsonl").write_text('{"ids": [1143, 4, 1721]}\n{"ids": [1714, 1714]}\n')
    assert run("run", made, "-o", str(made / "saved.json")).exit_code == 1
    assert run("corpus verify", made, "-q", "--state", str(made / "state")).exit_code == 1
    return made


@pytest.fixture(autouse=True)
def _no_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every environment be this one."""
    monkeypatch.setattr(environment, "prepare", lambda _packages: Path(sys.executable))


def test_every_command_that_writes_reports_is_in_the_table():
    writing = {name for name, command in list_commands() if any(each.name == "reports" for each in command.params)}
    assert writing == COMMANDS.keys() | WITH_FILE.keys()


@pytest.mark.parametrize("name", thinned(20, [*COMMANDS, *WITH_FILE]))
def test_options_of_reports_have_the_same_effect(tmp_path: Path, directory: Path, name: str):
    full = run(name, directory)
    assert full.exit_code in {0, 1}, full.output
    quiet, verbose = run(name, directory, "-q"), run(name, directory, "-v")
    assert {quiet.exit_code, verbose.exit_code} == {full.exit_code}
    verdict = full.stdout.rpartition("\n\n")[2]
    assert verdict.strip()
    # What differs may come before it, and nothing else.
    assert quiet.stdout.endswith(verdict)
    assert len(quiet.stdout) < len(full.stdout)
    assert verbose.stdout.endswith(f"\n{verdict}")

    path, other = tmp_path / "x.json", tmp_path / "x.md"
    main_report = ["-o", str(path)] if name in COMMANDS else ["--report", f"json={path}"]
    written = run(name, directory, *main_report, "--report", f"markdown={other}")
    assert (written.exit_code, written.stdout) == (full.exit_code, "" if name in COMMANDS else full.stdout)
    announced = written.stderr if name in COMMANDS else written.stdout
    assert " ".join(verdict.split()) in " ".join(announced.split())
    assert f"the reports are in {path}, {other}" in written.stderr
    shown = run(name, directory, "-f", "json")
    assert json.loads(shown.stdout).keys() == json.loads(path.read_text()).keys()
    assert other.read_text().startswith("## ")
    assert run(name, directory, "-f", "json", "-q").stdout.startswith("{")
