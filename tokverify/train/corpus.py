"""Find the text files that a tokenizer is trained on, prepare them, and read them block by block.

A corpus may be larger than memory. Source files are prepared as the design document of the C++ tokenizer does: one line
after the other.
"""

from __future__ import annotations

import codecs
import gzip
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tokverify.errors import TokverifyError
from tokverify.system.input_file import list_files, require_fetched
from tokverify.text.wording import plural

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
        # UTF-8 allows NUL, but no text contains it, and many binary formats begin with it.
        if b"\0" in data:
            raise _not_text(path, 0, done + data.index(b"\0"))
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


Lines: TypeAlias = Iterable[str]
STDIN = Path("-")
"""The name of stdin as a corpus."""


class Preparation(StrEnum):
    """What is done to each file."""

    INDENTATION = "indentation"
    """Strip white space from the beginning of lines; in a diff, after the sign."""
    LICENSES = "licenses"
    """Leave out comments about licenses at the beginning of a file."""
    DIFFS = "diffs"
    """Write each commit of a diff between `<DIFF_START>` and `<DIFF_END>`, with its subject."""


_DIFF_SUFFIXES = (".diff", ".patch", ".diff.gz", ".patch.gz")

_LICENSE = re.compile(
    r"copyright|licen[cs]e|spdx|all rights reserved|permission is hereby|warranty|redistribution", re.IGNORECASE
)

_SUBJECT = re.compile(r"Subject:\s*(?:\[PATCH[^\]]*\]\s*)?(.*)")
_COMMIT = re.compile(r"(?:From |commit )[0-9a-f]{7,64}\b")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_HEAD = ("diff --git ", "index ", "--- a/", "--- /dev/null", "+++ ", "new file", "deleted file", "rename ")
_START, _END = "<DIFF_START>", "<DIFF_END>"


def prepare(path: Path, target: Path, preparations: Sequence[Preparation]) -> None:
    """Write a prepared copy of a text file, which may be compressed."""
    is_diff = path.name.endswith(_DIFF_SUFFIXES)
    lines: Lines = _lines(path)
    if Preparation.LICENSES in preparations and not is_diff:
        lines = drop_license(lines)
    if Preparation.DIFFS in preparations and is_diff:
        lines = frame_commits(lines)
    if Preparation.INDENTATION in preparations:
        lines = map(_strip_diff_line if is_diff else str.lstrip, lines)
    with target.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def _lines(path: Path) -> Iterator[str]:
    rest = ""
    for block in read_text_blocks(path):
        *lines, rest = (rest + block).split("\n")
        yield from lines
    if rest:
        yield rest


def _strip_diff_line(line: str) -> str:
    sign = line[:1] if line[:1] in {"+", "-", " "} and not line.startswith(("+++ ", "--- ")) else ""
    return sign + line[len(sign) :].lstrip()


def drop_license(lines: Lines) -> Iterator[str]:
    """Leave out the comments at the beginning of a file, if they are about its license, up to the first other line."""
    head: list[str] = []
    rest: Iterator[str] = iter(lines)
    in_comment = False
    for line in rest:
        stripped = line.strip()
        in_comment = in_comment or stripped.startswith("/*")
        if not in_comment and stripped and not stripped.startswith("//"):
            rest = chain([line], rest)
            break
        head.append(line)
        in_comment = in_comment and "*/" not in stripped
    if not any(map(_LICENSE.search, head)):
        yield from head
    yield from rest


def frame_commits(lines: Lines) -> Iterator[str]:
    """Write commits as the design document does: `<DIFF_START>`, the subject as a comment, hunks, and `<DIFF_END>`.

    The commits are those of `git format-patch`, `git log -p` or a plain diff; other headers are left out.
    """
    is_open, subject = False, ""
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:
            old -= not line.startswith(("+", "\\"))
            new -= not line.startswith(("-", "\\"))
            yield line
            continue
        hunk = _HUNK.match(line)
        if _COMMIT.match(line):
            yield from [_END] * is_open
            is_open, subject = False, ""
        elif hunk or line.startswith(_HEAD):
            yield from [] if is_open else [_START, *([f"// COMMIT: {subject}"] if subject else [])]
            is_open = True
            yield line
            old, new = (int(size or 1) for size in hunk.groups()) if hunk else (0, 0)
        else:
            subject = _find_subject(line, subject)
    yield from [_END] * is_open


def _find_subject(line: str, known: str) -> str:
    """Return the subject: what a mail names so, or the first indented line of a log."""
    named = _SUBJECT.match(line)
    if named:
        return named[1].strip()
    return known or (line.strip() if line.startswith("    ") else "")


@dataclass(frozen=True, slots=True)
class OpenedCorpus:
    """The files to train on."""

    files: tuple[Path, ...]
    """UTF-8 text files."""
    notes: tuple[str, ...]
    """What was left out."""


@contextmanager
def open_corpus(sources: Sequence[Path], preparations: Sequence[Preparation] = ()) -> Iterator[OpenedCorpus]:
    """Find and check the files of a corpus; prepared files and stdin exist as long as the block runs.

    Files below a directory are sorted by their paths. Hidden ones and those that are not UTF-8 text are left out.

    Raises:
        TokverifyError: If a source cannot be read, or nothing contains text.
    """
    with tempfile.TemporaryDirectory(prefix="tokverify-corpus-") as name:
        folder = Path(name)
        files: list[Path] = []
        left_out = 0
        for source in sources:
            if source.is_dir():
                found = list(list_files(source))
                chosen = [path for path in found if is_text(path)]
                left_out += len(found) - len(chosen)
                files += chosen
            else:
                files.append(_save_stdin(folder) if source == STDIN else source)
        if not files:
            raise TokverifyError(f"{', '.join(map(str, sources))}: no text files to train on")
        check_corpus(files)
        if preparations:
            files = list(_prepare_files(files, preparations, folder))
            check_corpus(files)
        are = "is" if left_out == 1 else "are"
        notes = (f"left out {plural(left_out, 'file')} that {are} not UTF-8 text",) if left_out else ()
        yield OpenedCorpus(tuple(files), notes)


def _save_stdin(folder: Path) -> Path:
    """Copy stdin to a file, because a corpus is read more than once."""
    path = folder / "stdin"
    if path.exists():
        raise TokverifyError("-: stdin is named twice; it can be read only once")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _prepare_files(files: Iterable[Path], preparations: Sequence[Preparation], folder: Path) -> Iterator[Path]:
    for number, path in enumerate(files):
        target = folder / f"{number:06}{path.suffix}".removesuffix(".gz")
        prepare(path, target, preparations)
        yield target
