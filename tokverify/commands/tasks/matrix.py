"""Verify several models, one after the other or several at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tokverify.commands.tasks.run import OnProgress, RunRequest, RunResult, run
from tokverify.commands.tasks.several import perform_each
from tokverify.errors import TokverifyError

ModelResult: TypeAlias = "RunResult | TokverifyError"
"""The result for one model, or the reason why there is none."""


def run_all(
    requests: Sequence[RunRequest], *, jobs: int = 1, on_progress: OnProgress | None = None
) -> Iterator[ModelResult]:
    """Verify models and yield the results in order.

    Args:
        requests: One request per model.
        jobs: The number of models to verify at a time.
        on_progress: Called after each case; not called if several models are verified at a time.
    """
    return perform_each(_run, requests, jobs=jobs, on_progress=on_progress)


def _run(request: RunRequest, on_progress: OnProgress | None = None) -> ModelResult:
    """Verify one model. An error must not keep the other models from being verified."""
    try:
        return run(request, on_progress)
    except TokverifyError as error:
        return error
    except OSError as error:
        # Such as a name that is too long, which already fails when looking for the file.
        return TokverifyError(f"{error.filename or request.model}: {error.strerror}; check the path")
