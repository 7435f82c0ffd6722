"""End a command without freeing its tables one by one, since the operating system frees all memory at once.

Freeing the tables of a large tokenizer takes a tenth of the time of loading it.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections import deque
from collections.abc import Callable
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
