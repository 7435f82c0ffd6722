"""Git LFS leaves a pointer, a few lines of text, where it has not fetched a file; tell that from the file itself."""

from __future__ import annotations

from pathlib import Path

from tokverify.errors import BrokenFileError

POINTER = b"version https://git-lfs"
"""What every pointer begins with."""

MAX_POINTER_BYTES = 1024
"""A larger file is no pointer, says the specification of Git LFS."""


def require_fetched(path: Path, head: bytes) -> None:
    """Check what a file begins with, where a pointer could pass for the file, or would be complained of as damaged.

    Raises:
        BrokenFileError: If it is a pointer.
    """
    if head.startswith(POINTER):
        raise BrokenFileError(f"{path}: a Git LFS pointer, not the file itself; fetch it with `git lfs pull`")
