"""Targets: the formats that can be written, by the suffix of the file.

A new one is one line in `TARGETS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.convert.json_writer import write_json
from tokverify.errors import TokverifyError
from tokverify.files.gguf.writer import write_gguf
from tokverify.files.tokenizer_file import file_of
from tokverify.system.output_file import check_place, put_in_place, sync, temporary_beside

if TYPE_CHECKING:
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
        TokverifyError: If it is the source, is there and must not be overwritten, or nothing can be written there.
    """
    source = file_of(source)
    if path.exists() and source.exists() and path.samefile(source):
        raise TokverifyError(f"{path}: is IN itself, which is never changed; name another file")
    if path.exists() and not path.is_file():
        raise TokverifyError(f"{path}: not a regular file; name another one")
    if path.exists() and not force:
        raise TokverifyError(f"{path}: exists already; name another file, or overwrite it with --force")
    check_place(path)


def write_spec(spec: TokenizerSpec, path: Path) -> None:
    """Write a tokenizer to a file in the format of its suffix; it appears there whole or not at all.

    Raises:
        TokverifyError: If the suffix is not known, or the file cannot be written.
        UnsupportedError: If the format cannot express the tokenizer.
    """
    target = target_of(path)
    with temporary_beside(path) as temporary:
        target.write(temporary, spec)
        sync(temporary)
        put_in_place(temporary, path)
