"""Find the files of a corpus: files, the text files below directories, and what stdin contains."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tokverify.errors import TokverifyError
from tokverify.text.wording import plural
from tokverify.train.corpus import check_corpus, is_text
from tokverify.train.preparation import Preparation, prepare

STDIN = Path("-")
"""The name of stdin as a corpus."""


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
