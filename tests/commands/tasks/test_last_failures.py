"""`--lf`: which cases of a model failed when they were last run."""

import json

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from tokverify.case import Case
from tokverify.commands.cli import main
from tokverify.commands.tasks.check import LastFailures
from tokverify.location import Typed

CASES = [Case(id=id, suite="s", text=id) for id in ("a", "b")]
BROKEN_RUN = ["run", str(SAMPLE / "sample-broken.gguf"), "-r", str(SAMPLE / "sample.tokenizer.model"), "--no-diagnose"]


def run(*options: str) -> list[str]:
    """Return the statuses of the cases that a run of the broken sample compares."""
    result = CliRunner().invoke(main, [*BROKEN_RUN, "--fail-on", "none", "-f", "json", *options])
    assert result.exit_code in {0, 1}, result.output
    return [case["status"] for case in json.loads(result.stdout)["results"]]


def test_only_the_cases_that_failed_are_run_again():
    first = run("--suite", "tabs")
    again = run("--suite", "tabs", "--lf")
    assert set(first) == {"match", "mismatch"}
    assert again == [status for status in first if status == "mismatch"]


def test_the_cases_that_failed_in_a_check_are_run_again():
    checked = CliRunner().invoke(main, ["check", *BROKEN_RUN[1:4], "--only", "run", "-f", "json"])
    report = json.loads(checked.stdout)["models"][0]["run"]
    failing = [case["status"] for case in report["results"] if case["status"] != "match"]
    assert run("--lf") == failing


def test_what_was_not_run_keeps_its_outcome():
    failing = run("--suite", "tabs").count("mismatch")
    run("--suite", "tabs", "--maxfail", "1")
    run("--suite", "emoji")
    assert len(run("--suite", "tabs", "--last-failed")) == failing


def test_all_cases_are_run_if_none_failed():
    run("--suite", "tabs")
    assert len(run("--suite", "emoji", "--lf")) == len(run("--suite", "emoji"))


@pytest.mark.parametrize(
    "content", ["{", '{"version": 1}', '{"version": 1, "cases": 5}', '{"version": 1, "cases": [5]}']
)
def test_a_damaged_file_means_that_nothing_failed(content):
    failures = LastFailures.of(Typed("a.gguf"), None)
    failures.file.path.parent.mkdir(parents=True)
    failures.file.path.write_text(content)
    assert failures.select(CASES) == CASES
