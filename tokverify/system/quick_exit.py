"""End a command without freeing its tables one by one, since the operating system frees all memory at once.

Freeing the tables of a large tokenizer takes a tenth of the time of loading it.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

# A model and its reference. Those of earlier models are freed, so that memory does not grow with their number.
_KEPT = 2


class _Ending:
    """How this process ends."""

    exit_code: int | None = None
    """The code to exit with; None before it is known, and then Python ends as usual."""
    kept: ClassVar[deque[object]] = deque(maxlen=0)
    """Values that stay in memory until the end."""


def prepare_quick_exit() -> None:
    """Skip the last part of Python's shutdown, in which it frees all values, once all `atexit` functions have run.

    Only for a process that belongs to a command. Must be called before this program registers such a function: the one
    registered first runs last. If somebody else has registered one, such as a tool that measures coverage, the process
    ends as usual.
    """
    if _count_exit_functions() == 0:
        _Ending.kept = deque(maxlen=_KEPT)
        atexit.register(_exit)


def _count_exit_functions() -> int:
    count: Callable[[], int] = getattr(atexit, "_ncallbacks", int)
    return count()


def set_exit_code(code: object) -> None:
    """State the code with which the process is about to end; anything but a number leaves the end to Python."""
    _Ending.exit_code = code if isinstance(code, int) else None


def keep_until_exit(value: object) -> None:
    """Keep a large value in memory, if the process ends quickly. Only the last two values are kept."""
    _Ending.kept.append(value)


def _exit() -> None:
    if _Ending.exit_code is None:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # Python reports this.
        return
    os._exit(_Ending.exit_code)


ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that ask a run to end, as far as this system has them."""


@contextmanager
def postpone_signals() -> Iterator[None]:
    """Deliver ending signals only after the block; SIGKILL cannot be postponed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    # A signal that is ignored, as SIGHUP under nohup, stays so in processes that are started in the block.
    heeded = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, lambda number, _: caught.append(number)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in caught:
            signal.raise_signal(number)


@contextmanager
def block_signals() -> Iterator[None]:
    """Block ending signals during the block, in this thread and in processes started by it."""
    # subtle: the system delivers a signal that this thread blocks to another thread, such as one of a library, and
    # Python would then interrupt this one all the same.
    with postpone_signals(), _mask_signals():
        yield


@contextmanager
def _mask_signals() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def unblock_signals() -> None:
    """Unblock ending signals in a process that was started while they were blocked."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING_SIGNALS)
