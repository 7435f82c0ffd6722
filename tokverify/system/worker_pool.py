"""Distribute the work of a run to processes that never outlive it.

Ctrl-C reaches all of them, but only the process that started them reacts to it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tokverify.errors import TokverifyError
from tokverify.system.quick_exit import block_signals, unblock_signals

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

    P = ParamSpec("P")
    T = TypeVar("T")

_WATCH_SECONDS = 0.5


class WorkerPool:
    """A pool of processes, each started when there is work for it."""

    def __init__(self, executor: ProcessPoolExecutor) -> None:
        self._executor = executor

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in one of the processes; the function, its arguments and its result must be picklable."""
        # A process that is being started must not be interrupted before it can handle signals.
        with block_signals():
            return self._executor.submit(work, *args, **kwargs)


@contextmanager
def worker_pool(jobs: int, begin: Callable[[], object] | None = None) -> Iterator[WorkerPool]:
    """Start a pool of `jobs` processes, each of which calls `begin` first.

    All of them have ended when the block ends. An exception in the block, such as an interrupt, kills them at once;
    closing a generator inside the block waits for their current work.

    Raises:
        TokverifyError: If a process dies.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    executor = ProcessPoolExecutor(jobs, get_context("spawn"), begin_worker, (begin,))
    try:
        yield WorkerPool(executor)
    except BrokenProcessPool as error:
        raise TokverifyError("a worker process died; find out what ended it, or try again with -j 1") from error
    except GeneratorExit:
        raise
    except BaseException:
        for process in active_children():
            process.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def begin_worker(begin: Callable[[], object] | None = None) -> None:
    """Initialize a worker process: it ignores Ctrl-C, ends with its parent, and uses one thread to tokenize."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    unblock_signals()
    # subtle: every process of a pool keeps the pipe that delivers its work open for writing, so none of them would ever
    # see the end of it. And the parent may be gone by now, in which case `os.getppid` would return another process.
    parent = parent_process()
    if parent and parent.pid:
        exit_with(parent.pid)
    if begin:
        begin()


def exit_with(parent: int) -> None:
    """Make this process exit as soon as its parent is gone, for example because it was killed."""
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)
