"""Define the formats that a conversion can write, by the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tokverify.compare.convert.json_writer import write_json
from tokverify.errors import TokverifyError
from tokverify.sources.gguf.writer import write_gguf
from tokverify.sources.tokenizer_file import file_of
from tokverify.spec import TokenizerSpec
from tokverify.system.output_file import check_new_file


@dataclass(frozen=True, slots=True)
class Target:
    """A format to write."""

    kind: str
    """Its name as the kind of a source."""
    write: Callable[[Path, TokenizerSpec], None]


TARGETS: Mapping[str, Target] = {
    ".gguf": Target("gguf", write_gguf),
    ".json": Target("tokenizers", write_json),
}
"""The formats by suffix. A new one is one row."""


def target_of(path: Path) -> Target:
    """Return the format that a file's suffix selects.

    Raises:
        TokverifyError: If there is no such format.
    """
    target = TARGETS.get(path.suffix.lower())
    if target is None:
        problem = f"{path.suffix} is not supported" if path.suffix else "it is missing"
        raise TokverifyError(f"{path}: the suffix selects the output format, and {problem}; use {' or '.join(TARGETS)}")
    return target


def check_target(path: Path, source: Path, *, force: bool) -> None:
    """Fail before the work begins if a file could not, or must not, be written.

    Raises:
        TokverifyError: If it is the source, exists and must not be overwritten, or cannot be written.
    """
    source = file_of(source)
    if path.exists() and source.exists() and path.samefile(source):
        raise TokverifyError(f"{path}: is IN itself, which is never changed; name another file")
    check_new_file(path, force=force)
