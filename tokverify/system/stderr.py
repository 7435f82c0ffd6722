"""Capture what libraries write to stderr directly, bypassing Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import RLock

_STDERR = 2
_LOCK = RLock()


class CapturedStderr:
    """The captured output, stored in an unnamed file."""

    def __init__(self, file: int | None) -> None:
        self._file = file

    def drop(self) -> None:
        """Discard the output."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)

    def take(self) -> bytes:
        """Return the output and discard it."""
        if self._file is None or not (size := os.fstat(self._file).st_size):
            return b""
        os.lseek(self._file, 0, os.SEEK_SET)
        data = os.read(self._file, size)
        self.drop()
        return data


@contextmanager
def capture_stderr() -> Iterator[CapturedStderr]:
    """Capture what is written to file descriptor 2 during the block, and write it to stderr afterwards.

    This includes the output of other threads. Only one thread at a time can enter the block, so it should be short.
    Capturing takes a few microseconds; encoding a sentence takes ten or more.
    """
    with _LOCK:
        try:
            file, stderr = _spare_file(), os.dup(_STDERR)
        except OSError:
            # Stderr is closed, so nothing can be written to it; or no file can be created.
            yield CapturedStderr(None)
            return
        captured = CapturedStderr(file)
        try:
            os.dup2(file, _STDERR)
            yield captured
        finally:
            os.dup2(stderr, _STDERR)
            os.close(stderr)
            if output := captured.take():
                with suppress(OSError):
                    os.write(_STDERR, output)


@cache
def _spare_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stderr")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _initialize_child() -> None:
    # subtle: if the child shared the file of its parent, each would capture the other's output.
    _spare_file.cache_clear()
    _LOCK.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    # A fork waits for the end of any capture: in the child, the lock would stay locked and stderr redirected.
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_initialize_child)
