"""Actors that are lost again and again, with a stand-in for Ray that answers as Ray did when a node was killed."""

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tokverify.corpus import ray_cluster
from tokverify.corpus.document import CorpusFile, WorkUnit
from tokverify.corpus.executor import Finished, Job
from tokverify.corpus.ray_cluster import RayCluster
from tokverify.corpus.result import GroupTally, Tally, add
from tokverify.corpus.schedule import run_units
from tokverify.errors import TokverifyError

UNITS = [WorkUnit(CorpusFile(f"{number}.txt", "text", 1, "")) for number in range(60)]


class LostError(Exception):
    """What Ray raises for an actor that is gone."""


class MadeActor:
    """An actor that is lost after a number of calls, for good or until so many calls have failed."""

    def __init__(self, ray: "MadeRay", lost_after: float, lost_calls: float) -> None:
        self._ray = ray
        self._lost_after, self._lost_calls = lost_after, lost_calls
        self._calls = 0
        self.open = SimpleNamespace(remote=lambda: self._call(lambda: None))
        self.run = SimpleNamespace(remote=lambda job: self._call(lambda: Finished(job, tally_of(job))))

    def _call(self, answer: Callable[[], object]) -> int:
        self._calls += 1
        is_lost = self._lost_after < self._calls <= self._lost_after + self._lost_calls
        return self._ray.add(LostError("the node is gone") if is_lost else answer())


class MadeRay:
    """The part of Ray's core API that `RayCluster` uses; each answer is ready in its turn."""

    exceptions = SimpleNamespace(
        RayActorError=LostError, NodeDiedError=LostError, ObjectLostError=LostError, OutOfMemoryError=LostError
    )

    def __init__(self, *losses: tuple[float, float]) -> None:
        self._losses = deque(losses)
        self._answers: list[object] = []
        self._ready: deque[int] = deque()
        self.killed = 0

    def add(self, answer: object) -> int:
        self._answers.append(answer)
        self._ready.append(len(self._answers) - 1)
        return self._ready[-1]

    def is_initialized(self) -> bool:
        return True

    def remote(self, **_: object):
        return lambda _: SimpleNamespace(remote=lambda _: MadeActor(self, *self._losses.popleft()))

    def wait(self, references):
        ready = self._ready.popleft()
        assert ready in references
        return [ready], []

    def get(self, reference):
        answer = self._answers[reference]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def kill(self, _: object) -> None:
        self.killed += 1


def tally_of(job: Job) -> Tally:
    path = job.part.unit.file.path
    return Tally(documents=1, sources={path: GroupTally(1)})


def run(monkeypatch, ray: MadeRay, actors: int) -> Tally:
    monkeypatch.setattr(ray_cluster, "_import_ray", lambda: ray)
    results = []
    with RayCluster("auto", lambda: None, actors) as executor:
        run_units(executor, UNITS, "plan", results.append)
    assert len(results) == len(UNITS)
    assert ray.killed == actors
    return add(*(result.tally for result in results))


ALWAYS = float("inf")


@pytest.mark.parametrize(
    "losses",
    [
        [(ALWAYS, 0), (ALWAYS, 0)],
        [(ALWAYS, 0), (0, ALWAYS)],
        [(5, ALWAYS), (ALWAYS, 0)],
        [(3, 15), (5, ALWAYS)],
        [(3, 15), (5, 15), (0, ALWAYS)],
    ],
)
def test_the_other_workers_do_everything_once(monkeypatch, losses):
    tally = run(monkeypatch, MadeRay(*losses), len(losses))
    assert (tally.documents, tally.unreadable) == (60, 0)
    assert {group.documents for group in tally.sources.values()} == {1}


def test_a_run_ends_if_no_worker_is_left(monkeypatch):
    with pytest.raises(TokverifyError, match=r"^no worker on the Ray cluster can be started \(the node is gone\)$"):
        run(monkeypatch, MadeRay((4, ALWAYS), (7, ALWAYS)), 2)
