"""Files that appear whole or not at all: written under another name beside their own, which they get at the end."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from tokverify.errors import TokverifyError

SUFFIX = ".tokverify.tmp"
"""How the names end of what is only there for a while."""

# Of the 255 bytes that a name may have on most systems, in bytes.
_MAX_STEM = 100
_LEFT_OVER_SECONDS = 24 * 60 * 60
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def check_place(path: Path) -> None:
    """Fail before the work is done if no file could be written at a path after it.

    Raises:
        TokverifyError: If the directory is missing, or nothing can be created in it.
    """
    with errors_explained(path):
        # Where a link leads, a file may be created.
        directory = _resolved(path).parent if path.is_symlink() else path.parent
    if not directory.is_dir():
        raise TokverifyError(f"{path}: cannot be written: {directory} is no directory; create it first")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise TokverifyError(
            f"{path}: cannot be written: no file can be created in {directory}, which is done before one is replaced; "
            "name another directory"
        )


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Yield a name beside a file to write to first; nothing of that name is left behind, whatever happens.

    A run that is killed by SIGKILL may still leave it; a later one removes that after a day.

    Raises:
        TokverifyError: For any error of the system, such as a full disk.
    """
    with errors_explained(path):
        temporary = _temporary(_resolved(path))
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a file its own name: whoever reads there sees the old content or the new, never a part.

    A link is followed; permissions, and where possible the owner, stay those of the file that is replaced.
    """
    path = _resolved(path)
    if path.exists():
        shutil.copymode(path, temporary)
        status = path.stat()
        with suppress(OSError, AttributeError):  # AttributeError: not on Windows
            os.chown(temporary, status.st_uid, status.st_gid)
    temporary.replace(path)


def sync(path: Path) -> None:
    """Have the system put a file on the disk: a full one is met now, and a power failure leaves no empty file."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def errors_explained(path: Path) -> Iterator[None]:
    """Say of which file it is that the system does not let it be written.

    Raises:
        TokverifyError: In place of an OSError.
    """
    try:
        yield
    except OSError as error:
        advice = "; make room, or name another place" if error.errno in _NO_ROOM else ""
        raise TokverifyError(f"{path}: cannot be written: {error.strerror or error}{advice}") from error


def stem_of(target: Path) -> str:
    """Return how the names begin of what is there for a while in place of a file or directory."""
    return f".{os.fsencode(target.name)[:_MAX_STEM].decode(errors='ignore')}."


def _resolved(path: Path) -> Path:
    """Follow all links, to what may yet have to be created."""
    # subtle: over a loop of links Path.resolve raises a RuntimeError before Python 3.13, and nothing from there on.
    found = type(path)(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return found


def _temporary(target: Path) -> Path:
    """Name a file beside `target` that no other run writes to, and remove what killed runs have left there."""
    stem = stem_of(target)
    for left_over in target.parent.glob(f"{escape(stem)}*{SUFFIX}"):
        with suppress(OSError):
            if time.time() - left_over.stat().st_mtime > _LEFT_OVER_SECONDS:
                left_over.unlink()
    return target.with_name(f"{stem}{secrets.token_hex(8)}{SUFFIX}")
