"""Workers that die are replaced, and the document that kills them is found; here without any process."""

from array import array
from collections import Counter

import pytest

from tokverify.corpus.document import CorpusFile, WorkUnit
from tokverify.corpus.executor import Failure, Finished, Job
from tokverify.corpus.result import GroupTally, Place, ReasonTally, Tally
from tokverify.corpus.schedule import run_units

CRASH = Failure("the worker process ended", crashed=True)
SIZE = 20


class MadeExecutor:
    """Answers jobs on units of 20 documents; a part with one of the `deadly` ones crashes."""

    capacity = 3

    def __init__(self, deadly=(), crashes=(), failing=()) -> None:
        self.deadly = set(deadly)
        self.crashes = Counter(crashes)
        """How often each unit crashes for no reason, by path."""
        self.failing = set(failing)
        self.jobs: list[Job] = []
        self.most = 0

    def submit(self, job: Job) -> None:
        self.jobs.append(job)
        self.most = max(self.most, len(self.jobs))

    def wait(self) -> Finished:
        job = self.jobs.pop()
        return Finished(job, self._answer(job), 1.0)

    def _answer(self, job: Job):
        path = job.part.unit.file.path
        documents = range(SIZE)[job.part.first : job.part.last]
        if path in self.failing:
            return Failure("the server is gone")
        if self.crashes[path] > 0:
            self.crashes[path] -= 1
            return CRASH
        if job.locates:
            return array("q", (number * 100 for number in documents))
        if any((path, number) in self.deadly for number in documents):
            return CRASH
        return Tally(documents=len(documents), sources={path: GroupTally(len(documents))})


def run(executor: MadeExecutor, *paths: str) -> dict[str, Tally]:
    results = []
    run_units(executor, [unit(path) for path in paths], "plan", results.append)
    assert not executor.jobs
    assert executor.most <= executor.capacity
    assert len({result.unit for result in results}) == len(results) == len(paths)
    names = {unit(path).id: path for path in paths}
    assert all(result.plan == "plan" and result.seconds >= 1 for result in results)
    return {names[result.unit]: result.tally for result in results}


def unit(path: str) -> WorkUnit:
    return WorkUnit(CorpusFile(path, "text", 1, ""))


def unreadable(path: str, *rows: int, reason: str = CRASH.message) -> dict[str, ReasonTally]:
    return {reason: ReasonTally(len(rows), tuple(Place(path, row, "text") for row in rows))}


def test_every_unit_has_one_result():
    tallies = run(MadeExecutor(), *"abcdefgh")
    assert {path: tally.documents for path, tally in tallies.items()} == dict.fromkeys("abcdefgh", SIZE)


@pytest.mark.parametrize("deadly", [[0], [19], [7], [0, 1], [3, 12], list(range(SIZE))])
def test_the_documents_that_end_a_worker_are_found(deadly):
    tallies = run(MadeExecutor([("b", number) for number in deadly]), *"abc")
    assert tallies["a"].unreadable == tallies["c"].unreadable == 0
    assert tallies["b"].documents == SIZE - len(deadly)
    assert tallies["b"].unreadable == len(deadly)
    assert tallies["b"].reasons[CRASH.message].places == tuple(
        Place("b", 100 * number, "text") for number in deadly[:5]
    )


@pytest.mark.parametrize("crashes", [1, 2, 3])
def test_a_worker_that_dies_for_another_reason_loses_nothing(crashes):
    tallies = run(MadeExecutor(crashes={"b": crashes}), *"abc")
    assert all(tally == Tally(documents=SIZE, sources={path: GroupTally(SIZE)}) for path, tally in tallies.items())


def test_a_unit_that_cannot_even_be_read_without_a_crash():
    tallies = run(MadeExecutor(crashes={"b": 99}), *"ab")
    assert tallies["b"].reasons == unreadable("b", -1)
    assert (tallies["a"].documents, tallies["b"].documents) == (SIZE, 0)


def test_a_failure_is_recorded_and_the_rest_goes_on():
    tallies = run(MadeExecutor(failing="b"), *"abc")
    assert tallies["b"].reasons == unreadable("b", -1, reason="the server is gone")
    assert tallies["c"].documents == SIZE


def test_nothing_to_do():
    assert run(MadeExecutor()) == {}
