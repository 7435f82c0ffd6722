"""What every executor does, with real processes; on Ray, with a cluster of one node."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.corpus_maker import corpus_file, write_json_lines
from support.corpus_worker import fail_to_start, start_impatient_worker, start_worker
from support.paths import ROOT
from tokverify.corpus.executor import Executor, Processes
from tokverify.corpus.plan import divide
from tokverify.corpus.ray_cluster import AUTO, RayCluster
from tokverify.corpus.result import Tally, add
from tokverify.corpus.schedule import run_units
from tokverify.errors import TokverifyError

# Ray does not wait for the processes that it has stopped.
pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]
TEXTS = [f"{'ab' * (number % 3)} {'x' * (number % 50)}" for number in range(300)]
EXECUTORS: dict[str, Callable[..., Executor]] = {
    "processes": Processes,
    "ray": lambda count, start: RayCluster(AUTO, start, count),
}


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """Start a cluster on this machine, which all tests use."""
    import ray

    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    options = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False, "logging_level": "error"}
    ray.init(address="local", runtime_env={"env_vars": {"PYTHONPATH": path}}, **options)
    yield
    ray.shutdown()


@pytest.fixture(params=["processes", pytest.param("ray", marks=pytest.mark.slow)])
def executor(request: pytest.FixtureRequest) -> Callable[..., Executor]:
    if request.param == "ray":
        request.getfixturevalue("local_ray")
    return EXECUTORS[request.param]


def run(executor: Callable[..., Executor], path: Path, start=start_worker, *, unit_bytes=2_000) -> Tally:
    results = []
    with executor(2, start) as opened:
        run_units(opened, list(divide([corpus_file(path)], unit_bytes)), "plan", results.append)
    return add(*(result.tally for result in results))


def test_every_document_is_counted_once(tmp_path: Path, executor: Callable[..., Executor]):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    tally = run(executor, tmp_path / "a.jsonl")
    assert (tally.documents, tally.differing, tally.unreadable) == (300, 200, 0)


def test_the_document_that_ends_a_worker_is_found(tmp_path: Path, executor: Callable[..., Executor]):
    write_json_lines(tmp_path / "a.jsonl", [*TEXTS[:2], "deadly", TEXTS[2]])
    tally = run(executor, tmp_path / "a.jsonl", unit_bytes=1 << 20)
    assert (tally.documents, tally.differing, tally.unreadable) == (3, 2, 1)
    (place,) = tally.reasons["the worker process ended"].places
    assert (tmp_path / "a.jsonl").read_bytes()[place.row :].splitlines()[0].endswith(b'"deadly"}')


def test_the_document_that_never_ends_is_found(tmp_path: Path, executor: Callable[..., Executor]):
    write_json_lines(tmp_path / "a.jsonl", [*TEXTS[:2], "endless", TEXTS[2]])
    tally = run(executor, tmp_path / "a.jsonl", start_impatient_worker, unit_bytes=1 << 20)
    assert (tally.documents, tally.differing, tally.unreadable) == (3, 2, 1)
    ((reason, found),) = tally.reasons.items()
    assert reason in {"encoding takes too long", "the worker process ended"}  # Ray does not say why
    assert (tmp_path / "a.jsonl").read_bytes()[found.places[0].row :].splitlines()[0].endswith(b'"endless"}')


def test_a_failure_of_one_text_is_recorded(tmp_path: Path, executor: Callable[..., Executor]):
    write_json_lines(tmp_path / "a.jsonl", ["offline"])
    assert list(run(executor, tmp_path / "a.jsonl").reasons) == ["the server is gone"]


def test_a_worker_that_cannot_start_ends_the_run(tmp_path: Path, executor: Callable[..., Executor]):
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    with pytest.raises(TokverifyError, match="no such file"):
        run(executor, tmp_path / "a.jsonl", fail_to_start)
