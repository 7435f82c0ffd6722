"""MODEL and the reference can be any kind of tokenizer: equal ones agree in both directions, and others in neither."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

import pytest

from support.kinds_of_vocabulary import INTACT, faults_of, locations_of, try_kind
from support.paths import ROOT, SAMPLE
from support.selection import thinned
from support.server_stand_ins import VllmStandIn
from support.stand_in import StandIn
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.opening import open_subject
from tokverify.commands.tasks.run import verify_model
from tokverify.compare.convert.json_writer import write_json
from tokverify.compare.opened import OpenedReference
from tokverify.report.run import FAILING, Report, Status, count_status, failing_differences, run_exit_code
from tokverify.sources.load import load_gguf

ENCODER_PROGRAM = ROOT / "tests" / "support" / "encoder_program.py"
PYTHON_EXAMPLE = ROOT / "docs" / "examples" / "python" / "engine.py"
PROGRAMS = {"command", "command without bytes", "llama.cpp"}
KINDS = ("gguf", "tokenizers", "sentencepiece", "llama-server", "vllm", *sorted(PROGRAMS))
REAL = ("gpt-2", "llama-spm", "gemma-4", "bert-bge", "t5")
CASES = load_cases()


def _command(*words: object) -> str:
    return f"command:{shlex.join(map(str, words))}"


@pytest.fixture(scope="module")
def locations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    gguf, model = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"
    encoder = load_gguf(gguf)
    document = tmp_path_factory.mktemp("sample") / "tokenizer.json"
    write_json(document, encoder.spec)
    with ExitStack() as stack:
        yield {
            "gguf": f"gguf:{gguf}",
            "tokenizers": f"tokenizers:{document}",
            "sentencepiece": f"sentencepiece:{model}",
            "llama-server": stack.enter_context(StandIn(encoder)).address,
            "vllm": stack.enter_context(VllmStandIn(encoder)).address,
            "command": _command(sys.executable, ENCODER_PROGRAM, gguf),
            "command without bytes": _command(sys.executable, PYTHON_EXAMPLE, model),
            "llama.cpp": f"llama.cpp:{gguf}",
        }


@pytest.fixture(scope="module")
def opened(locations: dict[str, str]) -> dict[str, OpenedReference]:
    return {}


@pytest.fixture
def sides(request: pytest.FixtureRequest, opened: dict, locations: dict[str, str]) -> list[OpenedReference]:
    for kind in request.param:
        if kind == "llama.cpp":
            pytest.importorskip("xllamacpp")
        if kind not in opened:
            opened[kind] = open_subject(locations[kind])
    return [opened[kind] for kind in request.param]


def _parameter(*kinds: str, slow: bool = False):
    marks = [pytest.mark.slow] * slow + [pytest.mark.process] * bool(PROGRAMS.intersection(kinds))
    return pytest.param(kinds, marks=marks, id="-".join(kinds))


def in_both_directions(one: OpenedReference, other: OpenedReference, cases: list) -> list[Report]:
    return [verify_model(one, other, cases), verify_model(other, one, cases)]


PAIRS = [_parameter(*kinds, slow=at % 2 > 0) for at, kinds in enumerate(combinations(KINDS, 2))]


@pytest.mark.parametrize("sides", PAIRS, indirect=True)
def test_equal_tokenizers_agree_in_both_directions(sides):
    for report in in_both_directions(*sides, CASES[::6]):
        assert failing_differences(report) == ()
        assert [(result.case.name, result.message) for result in report.results if result.status in FAILING] == []
        assert run_exit_code(report) == 0
        assert count_status(report, Status.MATCH) > 100


@pytest.mark.parametrize("sides", [_parameter(kind) for kind in KINDS], indirect=True)
@pytest.mark.slow
def test_a_planted_difference_is_found_in_both_directions(sides):
    broken = open_subject(f"gguf:{SAMPLE / 'sample-broken.gguf'}")
    there, back = in_both_directions(*sides, broken, CASES)
    assert [run_exit_code(there), run_exit_code(back)] == [1, 1]
    assert count_status(there, Status.MISMATCH) == count_status(back, Status.MISMATCH) > 0
    assert _summarize(there) == _summarize(back)


def _summarize(report: Report) -> list[tuple[str, str, tuple[int, ...]]]:
    return sorted((each.aspect, each.severity.name, each.ids) for each in failing_differences(report))


@pytest.mark.parametrize("name", REAL)
def test_the_library_of_a_real_vocabulary_agrees_with_its_file_in_both_directions(vocabs: Path, name: str):
    reference = next(vocabs.glob(f"{name}.tokenizer.*"))
    kind = "sentencepiece" if reference.suffix == ".model" else "tokenizers"
    sides = open_subject(f"gguf:{vocabs / f'{name}.gguf'}"), open_subject(f"{kind}:{reference}")
    cases = [case for case in CASES if case.text.isascii()][::6]
    for report in in_both_directions(*sides, cases):
        assert failing_differences(report) == ()
        assert run_exit_code(report) == 0
        assert count_status(report, Status.MATCH) > 30


@pytest.mark.parametrize("kind", thinned(2, ["tokenizers", "vocab", "llama-server", "vllm"]))
def test_faults_in_a_real_vocabulary_are_found_in_both_directions(vocabs: Path, tmp_path: Path, kind: str):
    faults = [fault for fault in faults_of("bert-bge") if fault.name in {"SEP id wrong", "[MASK] typed NORMAL"}]
    gguf = vocabs / "bert-bge.gguf"
    with locations_of(gguf, vocabs / "bert-bge.tokenizer.json", tmp_path) as locations:
        intact, *found = try_kind(kind, locations[kind], gguf, faults, tmp_path)
    assert (intact.fault, intact.there, intact.back) == (INTACT, 0, 0)
    assert [(each.there, each.back, each.is_shown) for each in found] == [(1, 1, True)] * len(faults)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tokenizers", "llama-server", "vllm"])
@pytest.mark.parametrize("vocabulary", ["mpt", "gemma-4"])
def test_no_verdict_is_false_for_any_fault_in_a_real_vocabulary(
    vocabs: Path, tmp_path: Path, vocabulary: str, kind: str
):
    gguf = vocabs / f"{vocabulary}.gguf"
    with locations_of(gguf, vocabs / f"{vocabulary}.tokenizer.json", tmp_path) as locations:
        verdicts = list(try_kind(kind, locations[kind], gguf, faults_of(vocabulary), tmp_path))
    assert len(verdicts) > 3
    assert [each for each in verdicts if each.is_false] == []
