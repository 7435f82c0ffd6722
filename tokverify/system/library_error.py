"""Convert any exception raised by a library to one of our errors, on one line."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.errors import TokverifyError


_MAX_LENGTH = 300
# How Rust's serde quotes the values of a document, which may be any file.
_VALUE = re.compile(
    r'\b(string|character|integer|floating point|boolean|variant|field) (?:"(?:[^"\\]|\\.)*"|`[^`]*`)(?=,| at )'
)


@contextmanager
def raised_as(error_class: type[TokverifyError], message: str, *, quietly: bool = False) -> Iterator[None]:
    """Re-raise any exception in the block as `error_class`, with `message` before the library's own message.

    This is for libraries that raise bare `Exception`s and, if written in Rust, panic. Rust reports a panic on stderr at
    length; `quietly` suppresses that. Other output to stderr is still shown, but only after the block.
    """
    with capture_stderr() if quietly else nullcontext() as captured:
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            raise error_class(f"{message} ({summary(error)})") from error
        except BaseException as error:
            # subtle: a Rust panic derives from BaseException, and its class cannot be imported.
            if type(error).__name__ != "PanicException":
                raise
            if captured:
                captured.drop()
            raise error_class(f"{message} (the library panicked: {summary(error)})") from error


def summary(error: BaseException) -> str:
    """Return the first line of an exception's message, escaped, or the exception's type if there is no message."""
    lines = _VALUE.sub(r"\1", str(error)).strip().splitlines()
    line = lines[0].rstrip(".")[:_MAX_LENGTH] if lines else type(error).__name__
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


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
