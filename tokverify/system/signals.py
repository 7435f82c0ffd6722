"""Postpone or block the signals that end a run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
