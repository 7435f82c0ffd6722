"""Prepare source files for training, as the design document of the C++ tokenizer does: one line after the other."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from tokverify.errors import TokverifyError
from tokverify.text.wording import plural
from tokverify.train.corpus import check_corpus, is_text, read_text_blocks

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
    rest = iter(lines)
    in_comment = False
    for line in rest:
        stripped = line.strip()
        in_comment = in_comment or stripped.startswith("/*")
        if not in_comment and stripped and not stripped.startswith("//"):
            rest = _chain(line, rest)
            break
        head.append(line)
        in_comment = in_comment and "*/" not in stripped
    if not any(map(_LICENSE.search, head)):
        yield from head
    yield from rest


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
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
            found = [_save_stdin(folder)] if source == STDIN else list(_find_files(source))
            chosen = [path for path in found if is_text(path)] if source.is_dir() else found
            left_out += len(found) - len(chosen)
            files += chosen
        if not files:
            raise TokverifyError(f"{', '.join(map(str, sources))}: no text files to train on")
        check_corpus(files)
        if preparations:
            files = list(_prepare_files(files, preparations, folder))
            check_corpus(files)
        notes = (f"left out {plural(left_out, 'file')} that {_ARE[left_out == 1]} not UTF-8 text",) if left_out else ()
        yield OpenedCorpus(tuple(files), notes)


_ARE = {True: "is", False: "are"}


def _save_stdin(folder: Path) -> Path:
    """Copy stdin to a file, because a corpus is read more than once."""
    path = folder / "stdin"
    if path.exists():
        raise TokverifyError("-: stdin is named twice; it can be read only once")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _find_files(source: Path) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    for path in sorted(source.rglob("*")):
        is_hidden = any(part.startswith(".") for part in path.relative_to(source).parts)
        if path.is_file() and not is_hidden:
            yield path


def _prepare_files(files: Iterable[Path], preparations: Sequence[Preparation], folder: Path) -> Iterator[Path]:
    for number, path in enumerate(files):
        target = folder / f"{number:06}{path.suffix}".removesuffix(".gz")
        prepare(path, target, preparations)
        yield target
