"""Read parts of a GGUF file on demand, wherever the file is.

A local file is not mapped into memory: a mapped file that somebody truncates ends the process.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.sources.location import suggest_file
from tokverify.system.http_address import lacks_scheme, scheme_advice

_WINDOW = 1 << 20


class ByteSource(Protocol):
    """Where the bytes of a file come from."""

    @property
    def size(self) -> int:
        """The size of the file when it was opened, in bytes."""

    def load(self, start: int, least: int) -> bytes:
        """Return at least `least` bytes from `start` on, all of which are in the file; more if that costs nothing."""

    def expect(self, end: int) -> None:
        """Note that everything before `end` will be needed."""

    def close(self) -> None:
        """Release the file."""


class GgufFile:
    """An open file, of which parts are read on demand; use it as a context manager."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._window = b""
        self._start = 0
        self.expect = source.expect

    def __len__(self) -> int:
        """Return the size that the file had when it was opened, in bytes."""
        return self._source.size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def read(self, start: int, length: int) -> bytes:
        """Return `length` bytes, all of which must be in the file.

        Raises:
            TokverifyError: If they cannot be read, such as when the file has been truncated in the meantime.
        """
        window, offset = self.window(start, length)
        return window[offset : offset + length]

    def window(self, start: int, least: int) -> tuple[bytes, int]:
        """Return a part of the file with at least `least` bytes from `start` on, and the offset of `start` in it."""
        offset = start - self._start
        if not 0 <= offset <= len(self._window) - least:
            self._window = self._source.load(start, least)
            self._start, offset = start, 0
        return self._window, offset


class _LocalFile:
    """A file on this machine."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self._path = path
        self._file = file
        self.size = size

    def load(self, start: int, least: int) -> bytes:
        length = min(max(least, _WINDOW), self.size - start)
        try:
            self._file.seek(start)
            data = self._file.read(length)
        except OSError as error:
            raise TokverifyError(f"{self._path}: cannot be read: {error.strerror}") from None
        if len(data) < length:
            raise TokverifyError(
                f"{self._path}: was truncated while it was read; wait until nothing writes to it, and try again"
            )
        return data

    def expect(self, end: int) -> None:
        pass

    def close(self) -> None:
        self._file.close()


def open_gguf(path: Path) -> GgufFile:
    """Open a file for reading.

    Raises:
        BrokenFileError: If the file is empty.
        TokverifyError: If the file does not exist or cannot be read.
    """
    try:
        status = path.stat()
        # subtle: opening a pipe would wait for a writer, so check before opening.
        if stat.S_ISREG(status.st_mode) and status.st_size > 0:
            return GgufFile(_LocalFile(path, path.open("rb", buffering=0), status.st_size))
    except FileNotFoundError:
        advice = scheme_advice(str(path)) if lacks_scheme(str(path)) else suggest_file(path)
        raise TokverifyError(f"{path}: no such file; {advice}") from None
    except (OSError, ValueError) as error:  # ValueError: a path that contains NUL
        reason = getattr(error, "strerror", None) or error
        raise TokverifyError(f"{path}: cannot be read: {reason}") from None
    if stat.S_ISDIR(status.st_mode):
        raise TokverifyError(f"{path}: is a directory; name the .gguf file inside it")
    if not stat.S_ISREG(status.st_mode):
        raise TokverifyError(f"{path}: not a regular file; copy its content into one")
    raise BrokenFileError(f"{path}: the file is empty; download or copy the file again")
