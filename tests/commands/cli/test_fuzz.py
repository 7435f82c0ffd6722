import json
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from support.selection import thinned
from tokverify.cases.loading import load_cases, load_suites
from tokverify.commands.cli import main
from tokverify.commands.tasks import fuzz as task

MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)
FEW = ("--generator", "whitespace", "--texts", "300")

# Arguments, exit code, fragments of stdout, fragments of stderr; {tmp} is a new directory.
TABLE = [
    (
        [MODEL, "-r", REFERENCE, *FEW],
        0,
        ["as many as requested", "whitespace", "300 texts: nothing found"],
        [],
    ),
    ([MODEL, *FEW], 0, ["is beside the model"], []),
    (
        [BROKEN, "-r", REFERENCE, *FEW],
        1,
        ["the type of 30 tokens", "MISMATCH found/ids-", "≠", "fail, 1 cause"],
        [],
    ),
    ([BROKEN, "-r", REFERENCE, *FEW, "--no-diagnose"], 1, ["fail, 2 causes"], []),
    ([BROKEN, "-r", REFERENCE, *FEW, "-q"], 1, ["300 texts: "], []),
    (
        [MODEL, "-r", "rebuilt", "--generator", "digits", "--generator", "code", "--texts", "9"],
        0,
        ["digits", "code"],
        [],
    ),
    ([MODEL, "-r", REFERENCE, "--generator", "digits", "--time", "0.05s"], 0, ["until the time limit"], []),
    ([MODEL, "-r", REFERENCE, "--generator", "pieces", "--until-coverage", "40%"], 0, ["coverage was reached"], []),
    ([MODEL, "-r", REFERENCE, "--corpus", "{tmp}/text", "--generator", "corpus", "--texts", "50"], 0, ["corpus"], []),
    ([MODEL, "-r", REFERENCE, *FEW, "-o", "{tmp}/report.json"], 0, [], ["nothing found; the report is in"]),
    ([BROKEN, "-r", REFERENCE, *FEW, "--save", "{tmp}/found.yaml"], 1, ["MISMATCH"], ["2 cases in {tmp}/found.yaml"]),
    ([BROKEN, "-r", REFERENCE, *FEW, "--save", "{tmp}/text"], 2, [], ["already exists", "--force"]),
    ([BROKEN, "-r", REFERENCE, *FEW, "--save", "{tmp}/text", "--force"], 1, [], ["2 cases in"]),
    ([MODEL, "-r", REFERENCE, *FEW, "--save", "{tmp}/found.yaml"], 0, [], ["found.yaml was not written"]),
    ([MODEL, "-r", REFERENCE, *FEW, "--save", "{tmp}/no/found.yaml"], 2, [], ["create it first"]),
    ([MODEL, "-r", REFERENCE, "--generator", "corpus"], 2, [], ["--corpus; name one"]),
    ([MODEL, "-r", REFERENCE, "--corpus", "{tmp}/absent"], 2, [], ["error: {tmp}/absent: cannot read"]),
    ([MODEL, "-r", REFERENCE, "--corpus", "{tmp}/latin1"], 2, [], ["is not UTF-8"]),
    ([MODEL, "--generator", "nonsense"], 2, [], ["'pieces'"]),
    ([MODEL, "--time", "soon"], 2, [], ["'soon' is not a duration"]),
    ([MODEL, "--time", "0"], 2, [], ["'0' is not a duration"]),
    ([MODEL, "--until-coverage", "200%"], 2, [], ["'200%' is not a percentage"]),
    ([MODEL, "--texts", "0"], 2, [], ["x>=1"]),
    ([MODEL, "-j", "0"], 2, [], ["x>=1"]),
    (["{tmp}/absent.gguf"], 2, [], ["no such file"]),
    ([MODEL, "-r", "{tmp}/absent.json"], 2, [], ["error: "]),
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["fuzz", *arguments])


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"), TABLE, ids=[" ".join(row[0]).replace(str(SAMPLE), "")[:90] for row in TABLE]
)
def test_command_line(arguments, code, out, err, tmp_path):
    (tmp_path / "text").write_text("Once upon a time\n", encoding="utf-8")
    (tmp_path / "latin1").write_bytes(b"caf\xe9")
    result = run(*(argument.replace("{tmp}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == code, result.output
    assert all(fragment in result.stdout for fragment in out), result.stdout
    assert all(fragment.replace("{tmp}", str(tmp_path)) in result.stderr for fragment in err), result.stderr
    assert "Traceback" not in result.output
    if not err:
        assert result.stderr == ""


def test_the_saved_suite_has_no_hints_and_fails_only_with_the_broken_model(tmp_path):
    path = tmp_path / "found.yaml"
    run(BROKEN, "-r", REFERENCE, *FEW, "--save", str(path))
    assert sorted(case.text for case in load_cases([path])) == ["\t\t\t", "  "]
    assert load_suites([path])[0].hints == []
    for model, code in ((BROKEN, 1), (MODEL, 0)):
        again = CliRunner().invoke(main, ["run", model, "-r", REFERENCE, "--cases", str(path)])
        assert again.exit_code == code


def test_texts_that_differed_are_tried_first_in_the_next_run():
    first, second = (run(BROKEN, "-r", REFERENCE, *FEW, "-f", "json") for _ in range(2))
    documents = [json.loads(result.stdout) for result in (first, second)]
    assert "earlier" not in documents[0]["generators"]
    assert documents[1]["generators"]["earlier"] == {"strings": 2, "failing": 2}
    assert documents[1]["strings"] == 302
    without = run(BROKEN, "-r", REFERENCE, *FEW, "-f", "json", "--no-replay")
    assert "earlier" not in json.loads(without.stdout)["generators"]
    # They belong to this model and reference.
    assert "earlier" not in run(MODEL, "-r", REFERENCE, *FEW).stdout


def test_an_error_does_not_change_the_saved_file(tmp_path):
    path = tmp_path / "found.yaml"
    path.write_text("old")
    assert run(BROKEN, "-r", str(tmp_path / "absent.json"), *FEW, "--save", str(path), "--force").exit_code == 2
    assert run(MODEL, "-r", REFERENCE, *FEW, "--save", str(path), "--force").exit_code == 0
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_the_json_is_the_same_with_two_processes():
    options = ("--texts", "1500", "-f", "json", "--no-replay")
    first, second = (run(BROKEN, "-r", REFERENCE, *options, "-j", jobs) for jobs in "12")
    assert first.stdout == second.stdout
    document = json.loads(first.stdout)
    assert document["report"]["options"]["count"] == 1500
    assert "jobs" not in document["report"]["options"]
    assert {"tokverify", "python", "sentencepiece"} <= set(document["report"]["versions"])


def test_options_become_the_plan(monkeypatch):
    plans = []
    original = task.fuzz
    monkeypatch.setattr(task, "fuzz", lambda *sides, **options: plans.append(sides[2]) or original(*sides, **options))
    base = (MODEL, "-r", REFERENCE, "--generator", "digits")
    run(*base, "--texts", "5", "--time", "1.5m", "--until-coverage", "12.5%", "--seed", "-3", "--decoding")
    run(*base, "--texts", "5", "--until-coverage", "100")
    assert [(plan.count, plan.seconds, plan.coverage, plan.seed, plan.decoding) for plan in plans] == [
        (5, 90.0, 0.125, -3, True),
        (5, None, 1.0, 0, False),
    ]
    monkeypatch.setattr(task, "_DEFAULT_SECONDS", 0.01)
    run(*base)
    assert (plans[-1].count, plans[-1].seconds) == (None, 0.01)


def test_a_configured_model_is_compared_with_its_reference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(BROKEN, "small.gguf")
    shutil.copy(REFERENCE, "other.model")
    Path("tokverify.toml").write_text('[[models]]\nmodel = "small.gguf"\nreference = "other.model"\n')
    for name in ("small", "small.gguf"):
        result = run(name, *FEW)
        assert result.exit_code == 1, result.output
        assert "other.model" in result.stdout


def test_the_help_says_of_every_limit_that_the_search_stops_there():
    command = main.get_command(click.Context(main), "fuzz")
    helps = {option.opts[0]: option.help.lower() for option in command.params if isinstance(option, click.Option)}
    assert ["stop" in helps[name] for name in ("--time", "--texts", "--until-coverage")] == [True] * 3


INTERRUPT = """
import os, signal, sys
from tokverify.commands.cli import main
from tokverify.commands.cli.progress import FuzzLine

FuzzLine.update = lambda line, progress: progress.causes == 2 and os.killpg(0, signal.SIGINT)
main(sys.argv[1:])
"""


@pytest.mark.parametrize("jobs", thinned(2, ["1", "2"]))
def test_an_interrupted_run_shows_and_saves_what_it_found(tmp_path, jobs):
    found = tmp_path / "found.yaml"
    arguments = ["fuzz", BROKEN, "-r", REFERENCE, "--time", "10m", "-j", jobs, "--save", str(found), "-f", "json"]
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPT, *arguments], capture_output=True, check=False, start_new_session=True
    )
    assert (result.returncode, result.stderr.decode()) == (130, f"2 cases in {found}\n")
    assert json.loads(result.stdout)["summary"]["stop"] == "interrupted"
    assert len(load_cases([found])) == 2
