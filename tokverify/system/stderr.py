"""Hold back what a library writes to stderr by itself, past Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import RLock

_STDERR = 2
_LOCK = RLock()


class Held:
    """What has been written meanwhile, in a file without a name."""

    def __init__(self, file: int | None) -> None:
        self._file = file

    def drop(self) -> None:
        """Forget all of it."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)

    def take(self) -> bytes:
        """Return all of it, and forget it."""
        if self._file is None or not (size := os.fstat(self._file).st_size):
            return b""
        os.lseek(self._file, 0, os.SEEK_SET)
        data = os.read(self._file, size)
        self.drop()
        return data


@contextmanager
def held() -> Iterator[Held]:
    """Write what the enclosed calls write to file descriptor 2 elsewhere, and show that once they are done.

    What other threads write meanwhile is held as well, and they wait for each other here, so the calls had better be
    short. It takes a few microseconds, where encoding a sentence takes ten or more.
    """
    with _LOCK:
        try:
            file, stderr = _spare_file(), os.dup(_STDERR)
        except OSError:
            # It is closed, so nothing can be written to it; or there is no place for a file.
            yield Held(None)
            return
        kept = Held(file)
        try:
            os.dup2(file, _STDERR)
            yield kept
        finally:
            os.dup2(stderr, _STDERR)
            os.close(stderr)
            if told := kept.take():
                with suppress(OSError):
                    os.write(_STDERR, told)


@cache
def _spare_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stderr")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _begin_child() -> None:
    # subtle: with the file of its parent, it would take what that or another child writes for its own.
    _spare_file.cache_clear()
    _LOCK.release()


if hasattr(os, "register_at_fork"):  # not on Windows
    # A fork waits until nothing is held: the lock would stay locked in the child, and its stderr the parent's file.
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_begin_child)
