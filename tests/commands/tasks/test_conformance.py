"""`tokverify conformance` passes an engine that encodes as llama.cpp does, and finds each fault of another."""

import shlex
import sys

import pytest
from click.testing import CliRunner

from support.fake_tokenizer import FakeTokenizer
from support.paths import ROOT, SAMPLE
from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.cli import main
from tokverify.commands.tasks.conformance import check_conformance
from tokverify.compare.consistency import BATCHED, REPEATED, check_consistency
from tokverify.errors import EncodeError
from tokverify.report.run import Status, run_exit_code

PROGRAM = ROOT / "tests" / "support" / "encoder_program.py"
MODEL = SAMPLE / "sample.gguf"


def engine(*arguments: str) -> str:
    return "command:" + shlex.join([sys.executable, str(PROGRAM), str(MODEL), *arguments])


def some_cases() -> list[Case]:
    return [case for case in load_cases() if case.suite == "seed"]


def failing_suites(report) -> set[str]:
    return {result.case.suite for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}}


@pytest.mark.process
def test_an_engine_that_encodes_as_llama_cpp_does_conforms():
    report = check_conformance(engine(), MODEL, some_cases(), count=100)
    assert run_exit_code(report) == 0
    assert {REPEATED, BATCHED, "generated", "seed"} <= {result.case.suite for result in report.results}
    assert report.vocabulary.pieces == ()


@pytest.mark.process
@pytest.mark.parametrize(("fault", "suites"), [("batch", {BATCHED}), ("lowercase", {"seed", "generated"})])
def test_a_fault_is_found(fault, suites):
    report = check_conformance(engine(fault), MODEL, some_cases(), count=20)
    assert run_exit_code(report) == 1
    assert suites <= failing_suites(report)
    assert REPEATED not in failing_suites(report)


@pytest.mark.process
def test_the_command_writes_the_report_of_a_run():
    arguments = ["conformance", str(MODEL), "-r", engine(), "--texts", "0", "-f", "junit"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0
    assert 'name="batched"' in done.stdout
    missing = CliRunner().invoke(main, ["conformance", str(MODEL), "-r", "command:./no-such-engine"])
    assert (missing.exit_code, "cannot be started" in missing.stderr) == (2, True)


class Moody(FakeTokenizer):
    """Encodes a text differently the second time, and fails the third time."""

    def encode(self, text, **options):
        ids = super().encode(text, **options)
        count = self.calls.count(text)
        return ids * count if count < 3 else super().encode("x", **options)


def test_a_tokenizer_that_changes_its_mind_is_not_consistent():
    cases = [Case(id="a", suite="s", text="a"), Case(id="unknown", suite="s", text="?")]
    changed, skipped = check_consistency(Moody("a"), cases)
    assert (changed.status, changed.actual, changed.expected) == (Status.MISMATCH, (0,), (0, 0))
    assert changed.case.name == f"{REPEATED}/s-a"
    assert skipped.status is Status.SKIPPED
    steady = check_consistency(FakeTokenizer("a"), cases)
    assert [result.status for result in steady] == [Status.MATCH, Status.SKIPPED]


class Dying(FakeTokenizer):
    """Encodes a text only once, like a library that crashes when it is asked again."""

    def encode(self, text, **options):
        ids = super().encode(text, **options)
        if self.calls.count(text) > 1:
            raise EncodeError("the library aborted: Segmentation fault")
        return ids


def test_a_tokenizer_that_fails_later_says_why():
    (failed,) = check_consistency(Dying("a"), [Case(id="a", suite="s", text="a")])
    assert failed.status is Status.ERROR
    assert failed.message.startswith("encoded only once (the library aborted: Segmentation fault); actual are the ids")
