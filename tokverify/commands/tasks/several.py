"""Perform a task for several models, one after the other or several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from tokverify.system.worker_pool import worker_pool

if TYPE_CHECKING:
    from tokverify.commands.tasks.run import OnProgress

Request = TypeVar("Request")
Result = TypeVar("Result")


def perform_each(
    perform: Callable[[Request, OnProgress | None], Result],
    requests: Sequence[Request],
    *,
    jobs: int,
    on_progress: OnProgress | None,
) -> Iterator[Result]:
    """Yield the results in the order of the requests.

    Args:
        perform: The task, which other processes can import.
        requests: One request per model.
        jobs: The number of models at a time.
        on_progress: Called after each case; not called if several models are in progress at a time.
    """
    if jobs == 1 or len(requests) == 1:
        for request in requests:
            yield perform(request, on_progress)
        return
    with worker_pool(min(jobs, len(requests))) as pool:
        futures = [pool.submit(perform, request, None) for request in requests]
        for future in futures:
            yield future.result()
