"""Targets: the formats that can be written, by the suffix of the file.

A new one is one line in `TARGETS`.
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.conversion.gguf_writer import write_gguf
from tokverify.conversion.json_writer import write_json
from tokverify.errors import TokverifyError
from tokverify.tokenizer_file import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tokverify.spec import TokenizerSpec


@dataclass(frozen=True, slots=True)
class Target:
    """A format: its kind as a source is named, and what writes it."""

    kind: str
    write: Callable[[Path, TokenizerSpec], None]


TARGETS: Mapping[str, Target] = {
    ".gguf": Target("gguf", write_gguf),
    ".json": Target("tokenizers", write_json),
}
"""The suffix of a file -> how it is written."""


def target_of(path: Path) -> Target:
    """Return the format that a file's suffix names.

    Raises:
        TokverifyError: If it names none.
    """
    target = TARGETS.get(path.suffix.lower())
    if target is None:
        problem = f"{path.suffix} is no known one" if path.suffix else "there is none"
        raise TokverifyError(
            f"{path}: the suffix says what to convert to, and {problem}; name a file ending in {' or '.join(TARGETS)}"
        )
    return target


def check_target(path: Path, source: Path, *, force: bool) -> None:
    """Fail before the work is done if a file could not, or must not, be written after it.

    Raises:
        TokverifyError: If it is the source, is there and must not be overwritten, or has no directory to be in.
    """
    source = file_of(source)
    if path.exists() and source.exists() and path.samefile(source):
        raise TokverifyError(f"{path}: is IN itself, which is never changed; name another file")
    if not path.parent.is_dir():
        raise TokverifyError(f"{path}: {path.parent} is no directory; create it first")
    if path.exists() and not path.is_file():
        raise TokverifyError(f"{path}: not a regular file; name another one")
    if path.exists() and not force:
        raise TokverifyError(f"{path}: exists already; name another file, or overwrite it with --force")


@contextmanager
def temporary_beside(path: Path) -> Iterator[Path]:
    """Yield a name beside a file to write to first; nothing of that name is left behind, whatever happens.

    Raises:
        TokverifyError: For any error of the system, such as a full disk.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
    except OSError as error:
        reason = error.strerror or error
        advice = (
            "; make room, or name another place" if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} else ""
        )
        raise TokverifyError(f"{path}: cannot be written: {reason}{advice}; nothing was changed") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_spec(spec: TokenizerSpec, path: Path) -> None:
    """Write a tokenizer to a file in the format of its suffix; it appears there whole or not at all.

    Raises:
        TokverifyError: If the suffix is not known, or the file cannot be written.
        UnsupportedError: If the format cannot express the tokenizer.
    """
    target = target_of(path)
    path = path.resolve()
    with temporary_beside(path) as temporary:
        target.write(temporary, spec)
        sync(temporary)
        temporary.replace(path)


def sync(path: Path) -> None:
    """Have the system put a file on the disk, so that a full one is met now."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
