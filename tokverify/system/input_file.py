"""Read input files of limited size, and refuse pipes, devices, and files that Git LFS has not fetched.

Every file that tokverify reads is opened here, except for large ones that are read in parts.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.system.content import POINTER, guess_content, is_recognized

MAX_POINTER_BYTES = 1024
"""Larger files are never pointers, according to the Git LFS specification."""

_ABSENT = frozenset({errno.ELOOP, errno.EBADF})
# Not ready, the syntax of the name is wrong (it may be a location with a colon), a link cannot be resolved.
_ABSENT_ON_WINDOWS = frozenset({21, 123, 1921})

MAX_TEXT_BYTES = 1 << 26
"""The limit for a text to encode; the tokens of a longer one could fill the memory."""


class UnfitContentError(TokverifyError):
    """The content of a readable file is too large, or is not UTF-8."""

    def __init__(self, path: Path, line: int, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.line = line
        """Where the problem is, starting at 1."""
        self.problem = problem
        """The message without the path."""


def exists(path: Path) -> bool:
    """Whether there is something at a path; from Python 3.14 on, `Path.exists` also denies what it cannot look at.

    Raises:
        OSError: If the system cannot answer, for example because a name is too long, or a directory is closed.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a path that contains NUL
        return False
    except OSError as error:
        if error.errno not in _ABSENT and getattr(error, "winerror", None) not in _ABSENT_ON_WINDOWS:
            raise
        return False
    return True


def list_files(directory: Path) -> Iterator[Path]:
    """Yield the files below a directory in order, except hidden ones and those in hidden directories."""
    for path in sorted(directory.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(directory).parts)
        if not is_hidden and path.is_file():
            yield path


def require_fetched(path: Path, head: bytes) -> None:
    """Refuse a Git LFS pointer, given the first bytes of a file; it could be mistaken for the file or for damage.

    Raises:
        BrokenFileError: If the file is a Git LFS pointer.
    """
    if head.startswith(POINTER):
        raise BrokenFileError(f"{path}: a Git LFS pointer, not the file itself; fetch it with `git lfs pull`")


def open_input(path: Path, content: str, *, stream: bool = False) -> BinaryIO:
    """Open a file for reading.

    Args:
        path: The file.
        content: What it contains, for messages, such as `cases`.
        stream: Whether it may be a pipe or a terminal, such as /dev/stdin.

    Raises:
        TokverifyError: If there is no such file, it cannot be read, or it is a directory, a pipe or a device.
    """
    try:
        # subtle: opening a pipe waits for a writer, so check before opening.
        if not stream:
            _require_regular(path, path.stat().st_mode)
        return path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a path that contains NUL
        reason = getattr(error, "strerror", None) or error
        raise TokverifyError(f"{path}: cannot read the {content}: {reason}; check the path") from error


def _require_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise TokverifyError(f"{path}: not a regular file; copy its content into one")


def read_bytes(path: Path, content: str, max_bytes: int, *, stream: bool = False) -> bytes:
    """Read a file; `content` and `stream` are those of `open_input`.

    Raises:
        TokverifyError: If the file cannot be read.
        BrokenFileError: If it is a Git LFS pointer.
        UnfitContentError: If it is larger than `max_bytes`.
    """
    with open_input(path, content, stream=stream) as file:
        try:
            data = file.read(max_bytes + 1)
        except OSError as error:
            raise TokverifyError(f"{path}: cannot read the {content}: {error.strerror}; check the path") from error
    require_fetched(path, data)
    _require_size(path, data, content, max_bytes)
    return data


def _require_size(path: Path, data: bytes, content: str, max_bytes: int) -> None:
    if len(data) > max_bytes:
        size = f"{max_bytes >> 20:,} MiB"
        raise UnfitContentError(path, 1, f"larger than {size}, the limit for the {content}; reduce or split it")


def read_text(path: Path, content: str, max_bytes: int) -> str:
    """Read a UTF-8 file, with or without a byte order mark.

    Raises:
        TokverifyError: As for `read_bytes`.
        UnfitContentError: As for `read_bytes`, and if the file is not UTF-8.
    """
    data = read_bytes(path, content, max_bytes)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        guess = guess_content(data[:64], f"name a text file for the {content}")
        if is_recognized(guess):
            raise UnfitContentError(path, 1, f"not text; it looks like {guess}") from None
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"byte 0x{data[error.start]:02X} on line {line}"
        raise UnfitContentError(path, line, f"{byte} is not UTF-8; save the file as UTF-8") from error


def read_verbatim(path: Path) -> str:
    """Read a text to encode, without changing newlines or dropping a byte order mark.

    Raises:
        TokverifyError: If it cannot be read, is too large, or is not UTF-8.
    """
    return decode_verbatim(read_raw(path), str(path))


def read_raw(path: Path, *, stream: bool = False) -> bytes:
    """Read a text to encode that need not be UTF-8; `stream` as for `open_input`.

    Raises:
        TokverifyError: If it cannot be read, or is too large.
    """
    return read_bytes(path, "text", MAX_TEXT_BYTES, stream=stream)


def read_raw_stream(stream: BinaryIO, name: str) -> bytes:
    """Read a text to encode that need not be UTF-8 from a stream; errors as for `read_raw`."""
    data = stream.read(MAX_TEXT_BYTES + 1)
    _require_size(Path(name), data, "text", MAX_TEXT_BYTES)
    return data


def decode_verbatim(data: bytes, source: str) -> str:
    """Decode a text to encode; `source` names it in errors.

    Raises:
        TokverifyError: If it is not UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise TokverifyError(
            f"{source}: byte 0x{data[error.start]:02X} at offset {error.start:,} is not UTF-8; convert it to UTF-8"
        ) from None


def relative_path(path: Path | str, start: Path | str = os.curdir) -> str:
    """Return a path as seen from the directory `start`, or itself if that is on another drive of Windows."""
    try:
        return os.path.relpath(path, start)
    except ValueError:
        return str(path)
