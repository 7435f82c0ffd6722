"""Choose the columns of a corpus that contain the texts and the ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokverify.corpus.document import Columns, CorpusFile
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.source import SOURCES
from tokverify.corpus.source.source import Column, ids_with_list
from tokverify.errors import TokverifyError
from tokverify.text.wording import list_items, quote

_USUAL_NAMES = ("text", "content", "raw_content", "document", "body")
_MAX_BROKEN_FILES = 10


class ChosenColumns(NamedTuple):
    """The columns to read."""

    columns: Columns
    note: str
    """How the column with the texts was chosen; empty if it was named, or there is none."""
    reads_ids: bool = False
    """Whether the corpus contains ids."""


def choose_columns(files: Sequence[CorpusFile], text: str | None, ids: str | None) -> ChosenColumns:
    """Choose the columns to read, given the names of those that the user has named.

    The columns of the first file that can be read decide. If only the column with ids is named, no texts are read.

    Raises:
        TokverifyError: If a named column is missing or has another type, or it is not clear which one has the texts.
    """
    flat = [file for file in files if SOURCES[file.format].has_ids]
    if flat and (len(flat) < len(files) or text or ids):
        raise TokverifyError(
            f"{flat[0].path}: a file with such a name contains only ids; verify these files separately, without"
            " --text-column or --ids-column, and name the others with a pattern such as *.parquet"
        )
    if flat:
        return ChosenColumns(Columns(), "", reads_ids=True)
    tables = [file for file in files if SOURCES[file.format].columns]
    if not tables:
        if text or ids:
            raise TokverifyError(f"{files[0].path}: has no columns; omit {'--text-column' if text else '--ids-column'}")
        return ChosenColumns(Columns(), "")
    try:
        path, columns = _first_columns(tables)
    except UnreadableFileError as error:
        return _trust(tables, text, ids, str(error))
    if text is not None:
        _require(path, columns, "--text-column", text, lambda column: column.has_text)
    if ids is not None:
        _require(path, columns, "--ids-column", ids, lambda column: column.has_ids)
        _require_one_text(path, columns, text)
    if text is not None or ids is not None:
        return ChosenColumns(Columns(text, ids), "", reads_ids=ids is not None)
    name = _detect(path, columns)
    return ChosenColumns(
        Columns(name), f"the texts are read from the column {quote(name)}; choose another with --text-column"
    )


def _first_columns(files: Sequence[CorpusFile]) -> tuple[str, Sequence[Column]]:
    """Return the first file whose columns can be read, and its columns; if there is none, raise the first error."""
    errors: list[UnreadableFileError] = []
    for file in files[:_MAX_BROKEN_FILES]:
        read = SOURCES[file.format].columns
        try:
            if read is not None:
                return file.path, read(file.path)
        except UnreadableFileError as error:
            errors.append(error)
    raise errors[0]


def _trust(files: Sequence[CorpusFile], text: str | None, ids: str | None, reason: str) -> ChosenColumns:
    """Choose the named columns without having seen any."""
    if text is None and ids is None:
        raise TokverifyError(
            f"{files[0].path}: {reason}; if other files are intact, name the column with the texts with --text-column"
        )
    return ChosenColumns(Columns(text, ids), "", reads_ids=ids is not None)


def _require(path: str, columns: Sequence[Column], option: str, name: str, fits: Callable[[Column], bool]) -> None:
    named = next((column for column in columns if column.path == name), None)
    if named and fits(named):
        return
    fitting = list_items(column.path for column in columns if fits(column)) or "none"
    what = "texts" if option == "--text-column" else "lists of ids"
    problem = f"contains {named.type}" if named else "does not exist"
    raise TokverifyError(f"{path}: the column {quote(name)} {problem}; columns with {what}: {fitting} ({option})")


def _require_one_text(path: str, columns: Sequence[Column], text: str | None) -> None:
    if any(column.path == text and column.in_lists for column in columns):
        raise TokverifyError(f"{path}: {ids_with_list(text)}; omit --text-column or --ids-column")


def _detect(path: str, columns: Sequence[Column]) -> str:
    candidates = [column.path for column in columns if column.has_text and not column.in_lists]
    for usual in _USUAL_NAMES:
        if usual in candidates:
            return usual
    if len(candidates) == 1:
        return candidates[0]
    lists = [column.path for column in columns if column.has_text and column.in_lists]
    if not candidates and not lists:
        raise TokverifyError(f"{path}: no column contains texts; {_other_columns(columns)}")
    if not candidates:
        raise TokverifyError(f"{path}: only lists contain texts; choose with --text-column: {list_items(lists)}")
    raise TokverifyError(
        f"{path}: several columns may contain the texts; choose with --text-column: {list_items(candidates)}"
    )


def _other_columns(columns: Sequence[Column]) -> str:
    """Say which columns there are, if none contains texts."""
    ids = list_items(column.path for column in columns if column.has_ids)
    if ids:
        return f"columns with lists of ids: {ids} (--ids-column)"
    return f"columns: {list_items(f'{column.path} ({column.type})' for column in columns) or 'none'}"
