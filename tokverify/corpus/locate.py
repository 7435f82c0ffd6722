"""Find what makes up a corpus: the files at its locations, and the columns of these that contain the texts or ids."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tokverify.corpus.document import Column, Columns, CorpusFile, ids_with_list
from tokverify.corpus.files import UnreadableFileError, file_system, is_url, remote_version
from tokverify.corpus.source import SOURCES, format_of
from tokverify.errors import TokverifyError
from tokverify.system.library_error import raised_as, summary
from tokverify.text.wording import list_items, quote

_WILDCARDS = frozenset("*?[")


class FoundFiles(NamedTuple):
    """The files of a corpus."""

    files: tuple[CorpusFile, ...]
    """By path, each once."""
    ignored: tuple[str, ...]
    """The files in the named directories that do not look like data."""


def find_files(locations: Sequence[str]) -> FoundFiles:
    """Find all files of a corpus.

    A directory contributes the files in it, at any depth, whose suffix names a known format, except companions such as
    a README. Among other files of a corpus, a file whose suffix is that of flat ids is ignored if it has no index: it
    is usually something else. A file that is named, also by a pattern, is read as text if its suffix is unknown.

    Raises:
        TokverifyError: If something does not exist, cannot be listed, or contributes no file.
    """
    files: dict[str, CorpusFile] = {}
    ignored: list[str] = []
    for location in locations:
        found = _find_behind_url(location) if is_url(location) else _find_locally(location)
        ignored += found.ignored
        files |= {file.path: file for file in found.files}
    not_named = tuple(path for path in ignored if path not in files)
    return FoundFiles(tuple(files[path] for path in sorted(files)), not_named)


def _find_locally(location: str) -> FoundFiles:
    path = Path(location)
    try:
        if path.is_dir():
            return _select(location, map(_local_file, _walk(path)))
        paths = [location] if path.exists() or not _WILDCARDS & set(location) else _expand(location)
        return FoundFiles(tuple(_named(_local_file(Path(name))) for name in paths), ())
    except OSError as error:
        raise TokverifyError(
            f"{error.filename or location}: cannot be read: {error.strerror or error}; check the path"
        ) from error


def _expand(pattern: str) -> list[str]:
    paths = [path for path in glob.glob(pattern, recursive=True) if Path(path).is_file()]  # noqa: PTH207 - keeps `./`
    if not paths:
        raise TokverifyError(f"{pattern}: no file matches; check the pattern")
    return paths


def _walk(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        if not _is_hidden(path.relative_to(directory).parts) and path.is_file():
            yield path


def _is_hidden(parts: Iterable[str]) -> bool:
    """Check for names that no reader of data sets reads, such as `_SUCCESS` and `.part-0.crc`."""
    return any(part.startswith((".", "_")) for part in parts)


def _local_file(path: Path) -> CorpusFile:
    status = path.stat()
    return CorpusFile(str(path), format_of(path.name) or "", status.st_size, str(status.st_mtime_ns))


def _find_behind_url(location: str) -> FoundFiles:
    try:
        system, inner = file_system(location)
    except ValueError as error:
        raise TokverifyError(f"{location}: cannot be read: {summary(error)}") from error
    with raised_as(TokverifyError, f"{location}: cannot be read"):
        if _WILDCARDS & set(inner):
            names = system.glob(inner, detail=True)
        else:
            info = _info(system, inner)
            if info is None or info["type"] == "directory":
                return _select(location, _files_below(system, inner))
            names = {inner: info}
    if not names:
        raise TokverifyError(f"{location}: no file matches; check the pattern")
    return FoundFiles(tuple(_named(_remote_file(system, name, info)) for name, info in names.items()), ())


def _info(system: Any, name: str) -> dict[str, Any] | None:  # noqa: ANN401 - fsspec has no types
    """Describe a file; None if there is none. Unlike `isfile`, this fails if the server cannot be reached."""
    try:
        info: dict[str, Any] = system.info(name)
    except FileNotFoundError as error:
        # subtle: over HTTP, every failure is this error, with its cause.
        if error.__cause__ is not None:
            raise error.__cause__ from error
        return None
    return info


def _files_below(system: Any, directory: str) -> Iterator[CorpusFile]:  # noqa: ANN401 - fsspec has no types
    for name, info in system.find(directory, detail=True).items():
        if not _is_hidden(name[len(directory) :].strip("/").split("/")):
            yield _remote_file(system, name, info)


def _remote_file(system: Any, name: str, info: dict[str, Any]) -> CorpusFile:  # noqa: ANN401 - fsspec has no types
    path = system.unstrip_protocol(name)
    return CorpusFile(path, format_of(path.partition("?")[0]) or "", info.get("size"), remote_version(info))


def _named(file: CorpusFile) -> CorpusFile:
    return file if file.format else CorpusFile(file.path, "text", file.size, file.version)


def _select(location: str, found: Iterable[CorpusFile]) -> FoundFiles:
    files = list(found)
    known = _without_companions([file for file in files if file.format])
    if not files:
        raise TokverifyError(f"{location}: there are no files in it; check the path")
    if not known:
        problem = "it contains no Parquet, JSON Lines, Arrow or text files"
        raise TokverifyError(f"{location}: {problem}; to read others as text, name them or a pattern such as *.csv")
    paths = {file.path for file in files}
    indexes = {file.path: _index_of(file) for file in known}
    if not all(indexes.values()):
        known = [file for file in known if (indexes[file.path] or file.path) in paths]
    used = {file.path for file in known} | {indexes[file.path] for file in known}
    return FoundFiles(tuple(known), tuple(file.path for file in files if file.path not in used))


def _index_of(file: CorpusFile) -> str | None:
    find = SOURCES[file.format].index_path
    return find(file.path) if find else None


_PROSE = re.compile(r"(readme|licen[cs]e|notice|citation)\b.*\.(md|txt|text)")
_METADATA = re.compile(
    # Of the Hugging Face Hub and what `datasets` writes; of models; of tokenizers.
    r"dataset_infos?\.json|dataset_dict\.json|state\.json|(generation_)?config\.json"
    r"|(.+[.-])?tokenizer\.json|tokenizer_config\.json|special_tokens_map\.json|added_tokens\.json"
    r"|vocab\.(json|txt)|merges\.txt"
)


def _without_companions(files: Sequence[CorpusFile]) -> list[CorpusFile]:
    """Leave out the files that describe the others, by their names.

    A README among texts is a document like the others. If all files look like descriptions, they are the corpus.
    """
    prose = {file for file in files if _PROSE.fullmatch(_name(file))}
    metadata = {file for file in files if _METADATA.fullmatch(_name(file))}
    formats = {file.format for file in files if file not in prose | metadata}
    if not formats:
        return list(files)
    companions = metadata if formats == {"text"} else prose | metadata
    return [file for file in files if file not in companions]


def _name(file: CorpusFile) -> str:
    return Path(file.path).name.lower()


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
