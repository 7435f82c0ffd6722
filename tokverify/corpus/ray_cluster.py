"""RayCluster: an executor whose workers are actors on a Ray cluster.

It uses only Ray's core API. Each actor opens the tokenizers once and reserves one CPU. An actor that dies, alone or
with its node, is restarted by Ray where there is room; until it has opened the tokenizers again, it gets no work, so
a cluster that has become smaller goes on with the actors that are left.

subtle: Ray reports the same error for an actor that dies whenever it opens the tokenizers, and, again and again until
it has noticed, for one whose node was lost. So such errors end a run only if no other actor is left.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from types import TracebackType
from typing import Any, Self

from tokverify.corpus.executor import CRASHED, Failure, Finished, Job, StartWorker, do_job
from tokverify.corpus.work import Worker
from tokverify.errors import MissingLibraryError, TokverifyError
from tokverify.system.library_error import summary
from tokverify.text.wording import truncate

AUTO = "auto"
"""The address that stands for the cluster that this process belongs to, or else a new one on this machine."""

_CONNECT_SECONDS = 20
_MAX_DEATHS = 20
"""How often each actor may die while none has the tokenizers open; Ray takes two seconds to report it."""


class _Actor:
    """Runs on the cluster."""

    def __init__(self, start: StartWorker) -> None:
        self._start = start
        self._worker: Worker | None = None

    def open(self) -> TokverifyError | None:
        """Open the tokenizers; return why that is impossible."""
        try:
            self._worker = self._start()
            self._worker.limit_time()
        except TokverifyError as error:
            return error
        return None

    def run(self, job: Job) -> Finished:
        """Do a job."""
        if self._worker is None:  # it was restarted just now
            return Finished(job, Failure(CRASHED, crashed=True))
        began = time.monotonic()
        return Finished(job, do_job(self._worker, job), time.monotonic() - began)


class RayCluster:
    """Does jobs on a Ray cluster.

    Args:
        address: The address of the cluster as for `ray.init`, or `AUTO`.
        start: Opens the tokenizers on each node; the files must exist there under the same paths.
        count: How many actors; None for one per CPU of the cluster.

    Raises:
        MissingLibraryError: If Ray is not installed.
    """

    def __init__(self, address: str, start: StartWorker, count: int | None = None) -> None:
        self._ray = _import_ray()
        self._address = address
        self._start = start
        self._count = count
        self._actors: list[Any] = []
        self._idle: deque[Any] = deque()
        self._waiting: deque[Job] = deque()
        self._opening: dict[Any, Any] = {}
        """Reference to a result -> the actor that is opening the tokenizers."""
        self._running: dict[Any, tuple[Any, Job]] = {}
        """Reference to a result -> the actor that does a job."""
        self._deaths = 0
        """How many actors died in a row while none was left."""

    @property
    def capacity(self) -> int:
        """As many jobs as actors: a unit takes much longer than to ask for the next one."""
        return len(self._actors)

    def __enter__(self) -> Self:
        self._owns_connection = not self._ray.is_initialized()
        if self._owns_connection:
            self._connect()
        count = self._count or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        actor = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=0)(_Actor)
        self._actors = [actor.remote(self._start) for _ in range(count)]
        for each in self._actors:
            self._open(each)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        if self._owns_connection:
            self._ray.shutdown()

    def submit(self, job: Job) -> None:
        """Hand over a job."""
        self._waiting.append(job)
        self._assign()

    def wait(self) -> Finished:
        """Wait until a job has ended."""
        while True:
            (ready,), _ = self._ray.wait([*self._running, *self._opening])
            if ready in self._opening:
                self._finish_opening(ready)
            else:
                return self._finish_job(ready)

    def _connect(self) -> None:
        options: dict[str, object] = {"log_to_driver": False, "logging_level": "error"}
        try:
            self._require_server()
            self._ray.init(address=self._address, **options)
        except (OSError, RuntimeError, ValueError) as error:
            # Ray raises a ConnectionError if there is no cluster to find.
            if self._address != AUTO or not isinstance(error, ConnectionError):
                raise self._explain(error) from error
            # Without `local`, Ray would try the address of a cluster again that was killed and left it in a file.
            self._ray.init(address="local", include_dashboard=False, **options)

    def _require_server(self) -> None:
        """Try an address, because Ray waits for minutes for one where nothing listens."""
        if self._address != AUTO and "://" not in self._address:
            host, _, port = self._address.rpartition(":")
            socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()

    def _explain(self, error: Exception) -> TokverifyError:
        reason = truncate(summary(error))
        return TokverifyError(f"--ray {self._address}: cannot connect to a Ray cluster ({reason}); check the address")

    def _open(self, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no types
        self._opening[actor.open.remote()] = actor

    def _finish_opening(self, ready: Any) -> None:  # noqa: ANN401 - as above
        actor = self._opening.pop(ready)
        try:
            error = self._ray.get(ready)
        except self._losses as death:
            self._deaths = 0 if self._running else self._deaths + 1
            if self._deaths == _MAX_DEATHS * len(self._actors):
                reason = truncate(summary(death))
                raise TokverifyError(f"no worker on the Ray cluster can be started ({reason})") from death
            self._open(actor)
            return
        if error is not None:
            raise error
        self._deaths = 0
        self._idle.append(actor)
        self._assign()

    def _finish_job(self, ready: Any) -> Finished:  # noqa: ANN401 - as above
        actor, job = self._running.pop(ready)
        try:
            finished: Finished = self._ray.get(ready)
        except self._losses:
            finished = Finished(job, Failure(CRASHED, crashed=True))
        if isinstance(finished.outcome, Failure) and finished.outcome.crashed:
            self._open(actor)
        else:
            self._idle.append(actor)
            self._assign()
        return finished

    @property
    def _losses(self) -> tuple[type[Exception], ...]:
        """What Ray raises if an actor, its node, or the result on it is lost."""
        errors = self._ray.exceptions
        return errors.RayActorError, errors.NodeDiedError, errors.ObjectLostError, errors.OutOfMemoryError

    def _assign(self) -> None:
        while self._waiting and self._idle:
            actor, job = self._idle.popleft(), self._waiting.popleft()
            self._running[actor.run.remote(job)] = actor, job


def _import_ray() -> Any:  # noqa: ANN401 - Ray has no types
    try:
        import ray
    except ImportError as error:
        raise MissingLibraryError("--ray needs the library ray; run: pip install ray") from error
    return ray
