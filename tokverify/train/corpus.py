"""Read the text files that a tokenizer is trained on, block by block: a corpus may be larger than memory."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.system.input_file import require_fetched

if TYPE_CHECKING:
    from tokenizers.pre_tokenizers import PreTokenizer

BLOCK_BYTES = 1 << 20
LONGEST_CHUNK = 256
"""The length of the longest chunk that a trainer sees, in characters."""


def check_corpus(paths: Iterable[Path]) -> None:
    """Fail before the work begins if the files cannot be trained on. Some of them may be empty.

    Raises:
        TokverifyError: If a file is missing, not a regular file, or not text, or if none of them contains text.
    """
    paths = list(paths)
    # Every file is checked, even after one with text.
    with_text = [path for path in paths if _has_text(path)]
    if not with_text:
        raise TokverifyError(f"{', '.join(map(str, paths))}: no text to train on; name a file that contains text")


def is_text(path: Path) -> bool:
    """Check whether a file is UTF-8 text.

    Raises:
        TokverifyError: If it cannot be read.
    """
    try:
        for _ in read_text_blocks(path):
            pass
    except NotTextError:
        return False
    return True


def _has_text(path: Path) -> bool:
    if not path.exists():
        raise TokverifyError(f"{path}: no such file to train on; check the path")
    if not path.is_file():
        raise TokverifyError(f"{path}: not a regular file, and a corpus is read more than once; save it to a file")
    found = False
    for block in read_text_blocks(path):
        found = found or not block.isspace()
    return found


def read_text_blocks(path: Path) -> Iterator[str]:
    """Decode a file block by block, of which none is empty; a file whose name ends in `.gz` is decompressed.

    Raises:
        NotTextError: If it is not UTF-8 text.
        TokverifyError: If it cannot be read.
    """
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
    # UTF-8 allows NUL, but no text contains it, and many binary formats begin with it.
    if b"\0" in data:
        raise _not_text(path, 0, start + data.index(b"\0"))


class NotTextError(TokverifyError):
    """A file is not UTF-8 text."""


def _not_text(path: Path, byte: int, offset: int) -> NotTextError:
    return NotTextError(
        f"{path}: byte 0x{byte:02X} at offset {offset:,} is not UTF-8 text: the file is binary or in another encoding; "
        "omit it or convert it to UTF-8"
    )


def _blocks(path: Path) -> Iterator[bytes]:
    is_compressed = path.suffix == ".gz"
    try:
        with gzip.open(path) if is_compressed else path.open("rb") as file:
            while data := file.read(BLOCK_BYTES):
                yield data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TokverifyError(f"{path}: not a gzip file, or damaged: {error}; compress it again") from error
    except OSError as error:
        raise TokverifyError(f"{path}: cannot be read: {error.strerror}") from error


def read_blocks(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the texts of the files in order, in blocks of about a megabyte that end at a line or a word."""
    for path in paths:
        rest = ""
        for block in read_text_blocks(path):
            text = rest + block
            # subtle: blank lines stay with the line before them, so that no run of newlines is split.
            end = text.rfind("\n", 0, len(text.rstrip("\n"))) + 1 or max(text.rfind(" "), 0)
            rest = text[end:]
            if end:
                yield text[:end]
        if rest:
            yield rest


def read_lines(paths: Iterable[Path]) -> Iterator[str]:
    """Yield the non-empty lines in order, without line endings."""
    for block in read_blocks(paths):
        for line in block.split("\n"):
            if text := line.removesuffix("\r"):
                yield text


def in_short_chunks(pre_tokenizer: PreTokenizer) -> PreTokenizer:
    """Return a pre-tokenizer that also splits after LONGEST_CHUNK characters.

    The trainer scans every chunk that contains a merge in full, so a chunk of a megabyte would take minutes.
    """
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Sequence, Split

    return Sequence([pre_tokenizer, Split(Regex(f"[\\s\\S]{{1,{LONGEST_CHUNK}}}"), "isolated")])
