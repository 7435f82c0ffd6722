"""Read the text files that a tokenizer is trained on, in parts, as a corpus may be larger than memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.system.input_file import require_fetched

BLOCK_BYTES = 1 << 20


def check_corpus(paths: Iterable[Path]) -> None:
    """Fail before the work begins if the files cannot be trained on; an empty one among others can.

    Raises:
        TokverifyError: If a file is missing, no regular file, or not text; or if there is no text in any of them.
    """
    paths = list(paths)
    if not list(filter(_has_text, paths)):
        raise TokverifyError(f"{', '.join(map(str, paths))}: no text to train on; name a file that holds some")


def _has_text(path: Path) -> bool:
    if not path.exists():
        raise TokverifyError(f"{path}: no such file to train on; check the path")
    if path.is_dir():
        raise TokverifyError(f"{path}: a directory; name the files in it that are to be trained on")
    if not path.is_file():
        raise TokverifyError(
            f"{path}: not a regular file, and a corpus is read more than once; save it to a file first"
        )
    found = False
    for block in _decoded_blocks(path):
        found = found or not block.isspace()
    return found


def _decoded_blocks(path: Path) -> Iterator[str]:
    """Decode a file block by block; none of them is empty."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    for data in _blocks(path):
        if not done:
            require_fetched(path, data)
        # The decoder keeps the beginning of a character that ends in the next block.
        kept = len(decoder.getstate()[0])
        _require_no_nul(path, data, done)
        try:
            text = decoder.decode(data)
        except UnicodeDecodeError as error:
            raise _not_text(path, error.object[error.start], done - kept + error.start) from None
        done += len(data)
        if text:
            yield text
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise _not_text(path, error.object[0], done - len(error.object)) from None


def _require_no_nul(path: Path, data: bytes, start: int) -> None:
    # UTF-8 allows it, but no text has it, and much of what is not text begins with it.
    if b"\0" in data:
        raise _not_text(path, 0, start + data.index(b"\0"))


def _not_text(path: Path, byte: int, offset: int) -> TokverifyError:
    return TokverifyError(
        f"{path}: byte 0x{byte:02X} at offset {offset:,} is not UTF-8 text: a binary file, or one in another encoding; "
        "leave it out, or convert it first"
    )


def _blocks(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while data := file.read(BLOCK_BYTES):
                yield data
    except OSError as error:
        raise TokverifyError(f"{path}: cannot be read: {error.strerror}") from error


def read_blocks(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the texts of the files in order, in parts of a megabyte or so that end with a line, or a word."""
    for path in paths:
        rest = ""
        for block in _decoded_blocks(path):
            text = rest + block
            # subtle: blank lines stay with the line before them, so that no run of newlines is cut.
            end = text.rfind("\n", 0, len(text.rstrip("\n"))) + 1 or max(text.rfind(" "), 0)
            rest = text[end:]
            if end:
                yield text[:end]
        if rest:
            yield rest


def read_lines(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the lines that hold something, in order, without their ends."""
    for block in read_blocks(paths):
        for line in block.split("\n"):
            if text := line.removesuffix("\r"):
                yield text
