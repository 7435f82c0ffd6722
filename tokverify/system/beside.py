"""Call a function in another thread, beside something that takes longer, or for no longer than some time.

Python runs one thread at a time, so work only takes less time if it is done in compiled code that lets other threads
run, as `hashlib` and the native engine do.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Beside(Generic[_T]):
    """The result of a call that is made in another thread, which starts at once."""

    def __init__(self, function: Callable[[], _T]) -> None:
        self._function = function
        self._results: list[_T] = []
        self._error: BaseException | None = None
        # subtle: a call that never ends must not keep this process from ending.
        self._thread = Thread(target=self._call, daemon=True)
        self._thread.start()

    def _call(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:  # noqa: BLE001 - the thread that asks for the result raises it
            self._error = error

    def result(self, seconds: float | None = None) -> _T:
        """Wait for the result, or raise the error of the call; TimeoutError if it has not ended after some time."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            raise TimeoutError
        if self._error:
            raise self._error
        return self._results[0]
