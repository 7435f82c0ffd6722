"""Every command copes with a reference that can do less than another, and says what could not be compared."""

import shlex
import sys
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.paths import ROOT, SAMPLE
from support.selection import thinned
from tokverify.commands.cli import main
from tokverify.commands.tasks.opening import open_model, open_reference
from tokverify.commands.tasks.view import View

MODEL, BROKEN = SAMPLE / "sample.gguf", SAMPLE / "sample-broken.gguf"
HIDING = ("only-ids", "no-tokens")
"""What the program lacks so that it does not list its tokens."""
LISTING = ("no-decode", "only-pieces")
"""What it lacks although it lists them."""
WRONG = ("silent", "short")
"""The program lists its tokens, but leaves out ids: all of a text, or the last one."""
LEARN = ("convert", "-r", "{program}", "-o", "{folder}/learned.gguf", "--force")
COMMANDS = {
    "run": ["run", "{model}", "-r", "{program}", "--suite", "seed"],
    "run, the other way": ["run", "{program}", "-r", "{model}", "--suite", "seed"],
    "fix": ["fix", "{model}", "-r", "{program}", "--cases", "{cases}", "-o", "{folder}/fixed.gguf", "--force"],
    "audit": ["audit", "{model}", "-r", "{program}"],
    "diff": ["diff", "{model}", "{program}", "--suite", "seed"],
    "explain": ["explain", "{model}", "a   b<s>", "-r", "{program}"],
    "explain, the other way": ["explain", "{program}", "a   b<s>", "-r", "{model}"],
    "fuzz": ["fuzz", "{model}", "-r", "{program}", "--texts", "9", "--no-replay"],
    "conformance": ["conformance", "{model}", "-r", "{program}", "--texts", "0"],
    "stream": ["stream", "{model}", "-r", "{program}", "--suite", "seed"],
    "chat": ["chat", "{model}", "-r", "{program}"],
    "canonical": ["canonical", "{log}", "{model}", "-r", "{program}"],
    "check": ["check", "{model}", "-r", "{program}", "--cases", "{cases}"],
    "learn": [*LEARN, "--texts", "9"],
    "learn --ids-only": [*LEARN, "--texts", "9", "--ids-only"],
    "learn --vocab": [*LEARN, "--texts", "9", "--vocab", "{model}"],
}
pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def invoke(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("capabilities")
    log, cases = folder / "log.jsonl", folder / "cases.yaml"
    log.write_text('{"ids": [1733, 409, 1714, 1714]}\n')
    cases.write_text('suite: s\ncases:\n  - {id: a, text: "a   b"}\n  - {id: b, text: ""}\n  - {id: c, text: "<s>"}\n')

    def run(command: str, lacking: str, model: Path = BROKEN) -> Result:
        values = {"model": model, "program": program(lacking), "log": log, "cases": cases, "folder": folder}
        return CliRunner().invoke(main, [word.format(**values) for word in COMMANDS[command]])

    return run


def program(lacking: str) -> str:
    script = ROOT / "tests" / "support" / "encoder_program.py"
    return f"command:{shlex.join(map(str, [sys.executable, script, MODEL, *([lacking] if lacking else [])]))}"


@pytest.mark.parametrize(
    ("command", "lacking"),
    thinned(31, product([name for name in COMMANDS if name != "fix"], [*HIDING, *LISTING, *WRONG])),
)
def test_no_command_fails_because_of_what_a_reference_lacks(invoke, command, lacking):
    result = invoke(command, lacking)
    assert "Traceback" not in result.stderr
    assert result.exit_code in {0, 1, 2}
    if result.exit_code == 2 and not result.stdout:
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("lacking", thinned(5, ["bare", *HIDING, *LISTING]))
def test_a_fault_is_found_and_repaired_by_ids_alone(invoke, lacking):
    found, repaired = invoke("run", lacking), invoke("fix", lacking)
    assert (found.exit_code, repaired.exit_code) == (1, 0)
    assert "to USER_DEFINED makes" in " ".join(found.stdout.split())
    is_said = "bytes of tokens, types of tokens" in " ".join(repaired.stdout.split())
    assert is_said == (lacking not in LISTING)
    assert invoke("run", lacking, MODEL).exit_code == 0


@pytest.mark.parametrize("lacking", thinned(2, HIDING))
def test_what_cannot_be_compared_without_a_list_of_tokens_is_said(invoke, lacking):
    for command in ("run", "fuzz", "check", "audit"):
        assert "own does not list its tokens" in " ".join(invoke(command, lacking).stdout.split())
    assert "own does not list its tokens" in invoke("learn --ids-only", lacking).stderr


@pytest.mark.parametrize("lacking", WRONG)
def test_a_reference_that_leaves_out_ids_differs(invoke, lacking):
    assert invoke("run", lacking, MODEL).exit_code == 1


@pytest.mark.slow
def test_nothing_is_repaired_for_a_reference_that_leaves_out_ids(invoke):
    result = invoke("fix", "short", MODEL)
    assert (result.exit_code, "not repaired" in result.stdout) == (1, True)


@pytest.mark.parametrize("lacking", thinned(2, HIDING))
def test_a_text_that_is_not_known_is_not_taken_for_ended(invoke, lacking):
    assert "end of the text" in invoke("run", "silent", MODEL).stdout
    for command in ("run", "run, the other way"):
        shown = invoke(command, lacking).stdout
        assert "word ▸ ···with" in shown
        assert "end of the text" not in shown


@pytest.mark.parametrize("lacking", thinned(3, [*HIDING, *LISTING, *WRONG]))
def test_the_live_page_shows_any_text(lacking):
    model = open_model(BROKEN)
    view = View(model, open_reference(model, program(lacking)))
    for text in ("", "a   b", "<s>"):
        report = view.compare(text, add_special=True)
        assert len(report.results) == 1
        assert view.stages(text)
