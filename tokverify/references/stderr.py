"""Hold back what a library writes to stderr by itself, past Python."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STDERR = 2


@contextmanager
def held() -> Iterator[IO[bytes]]:
    """Write what the enclosed calls write to file descriptor 2 to a file instead, and show that once they are done.

    Truncate the file to drop it. What other threads write meanwhile is held as well, so the calls had better be short.
    """
    try:
        stderr = os.dup(_STDERR)
    except OSError:
        # It is closed, so nothing can be written to it.
        yield io.BytesIO()
        return
    with open(stderr, "wb") as shown, tempfile.TemporaryFile() as kept:  # noqa: PTH123 - a descriptor has no path
        _flush()
        os.dup2(kept.fileno(), _STDERR)
        try:
            yield kept
        finally:
            _flush()
            os.dup2(stderr, _STDERR)
            kept.seek(0)
            shutil.copyfileobj(kept, shown)


def _flush() -> None:
    if sys.stderr:
        sys.stderr.flush()
