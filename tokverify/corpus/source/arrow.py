"""Arrow and Feather files, and the streams of record batches that `datasets` stores; each file is one unit."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, BinaryIO

from tokverify.corpus.document import (
    Column,
    Columns,
    Document,
    Reading,
    Source,
    Unreadable,
    WorkUnit,
    ids_with_list,
)
from tokverify.corpus.files import UnreadableFileError, explained, open_file
from tokverify.corpus.source.arrow_size import batch_sizes
from tokverify.errors import MissingLibraryError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 128
"""Few, because a row can be a book."""
MAX_TEXT_BYTES = 1 << 26
TOO_LONG = "the text is longer than 64 MiB"
"""The reason why such a row is not read."""
MAX_PACKED_BYTES = 1 << 28
MAX_RATIO = 200
"""By which factor data of more bytes than this may be compressed; texts are compressed a tenth as much."""
_PACKED = "it contains a batch of more than 256 MiB, which is 200 times as much as in the file"


def require_arrow(path: str) -> None:
    """Fail clearly if the library that reads a file is not installed.

    Raises:
        MissingLibraryError: If it is not.
    """
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        advice = "pip install pyarrow"
        raise MissingLibraryError(f"{path}: reading it requires the library pyarrow; {advice}") from None


def list_columns(schema: pa.Schema) -> list[Column]:
    """List the columns of a schema and the fields inside them."""
    return [column for field in schema for column in _fields(field, "")]


def _fields(field: pa.Field, prefix: str, *, in_lists: bool = False) -> Iterator[Column]:
    from pyarrow import types

    type, path = field.type, prefix + field.name
    has_ids = _is_list(type) and types.is_integer(type.value_type) and not in_lists
    while _is_list(type):
        type, in_lists = type.value_type, True
    if types.is_struct(type):
        for inner in type:
            yield from _fields(inner, f"{path}.", in_lists=in_lists)
    else:
        yield Column(path, str(field.type), is_text(type), has_ids, in_lists)


def is_text(type: pa.DataType) -> bool:
    """Check whether the values of a type are texts, or bytes that may be."""
    from pyarrow import types

    type = type.value_type if types.is_dictionary(type) else type
    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)
    return any(test(type) for test in tests)


def _is_list(type: pa.DataType) -> bool:
    from pyarrow import types

    return any(test(type) for test in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def require_columns(schema: pa.Schema, columns: Columns) -> list[str]:
    """Return the paths of the columns to read.

    Raises:
        UnreadableFileError: If one is missing or has another type.
    """
    known = {column.path: column for column in list_columns(schema)}
    for path, quality in ((columns.text, "has_text"), (columns.ids, "has_ids")):
        if path is not None and path not in known:
            raise UnreadableFileError(f"there is no column {path!r}")
        if path is not None and not getattr(known[path], quality):
            wanted = "text" if quality == "has_text" else "lists of ids"
            raise UnreadableFileError(f"the column {path!r} contains {known[path].type}, not {wanted}")
    if columns.text is not None and columns.ids is not None and known[columns.text].in_lists:
        raise UnreadableFileError(ids_with_list(columns.text))
    chosen = [known[path] for path in (columns.text, columns.ids) if path is not None]
    # How a Parquet file names the parts of a list depends on its writer, so all of it is read.
    return [_root(schema, each.path) if each.has_text and each.in_lists else each.path for each in chosen]


def _root(schema: pa.Schema, path: str) -> str:
    """Return the name of the column that contains a field."""
    return path if path in schema.names else path.partition(".")[0]


def _is_too_long(text: str) -> bool:
    """Whether a text takes up more than `MAX_TEXT_BYTES` in UTF-8."""
    return 4 * len(text) > MAX_TEXT_BYTES and len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES


def read_batch(batch: pa.RecordBatch, columns: Columns, first_row: int) -> Reading:
    """Yield the documents of a record batch."""
    texts = [[None]] * batch.num_rows if columns.text is None else _texts_by_row(batch, columns.text)
    ids = None if columns.ids is None else _values(batch, columns.ids)[0].to_pylist()
    for index, texts_of_row in enumerate(texts):
        row = first_row + index
        if texts_of_row is None:
            yield Unreadable(row, f"{columns.text!r} is null", is_null=True)
        for text in texts_of_row or ():
            if isinstance(text, UnicodeDecodeError):
                yield Unreadable(row, "the text is not UTF-8")
            elif text and _is_too_long(text):
                yield Unreadable(row, TOO_LONG)
            elif ids is None:
                yield Document(row, text)
            else:
                yield _with_ids(row, text, ids[index], columns)


def _with_ids(row: int, text: str | None, ids: list[int] | None, columns: Columns) -> Document | Unreadable:
    if ids is None:
        return Unreadable(row, f"{columns.ids!r} is null", is_null=True)
    try:
        return Document(row, text, array("I", ids))
    except (TypeError, OverflowError):
        return Unreadable(row, f"{columns.ids!r} is not a list of ids")


def _values(batch: pa.RecordBatch, path: str) -> tuple[pa.Array, list[str]]:
    """Return the values at a path, in which a row is null if anything around its value is.

    If lists are on the way, return the first ones, and the names of the fields inside them that lead on.
    """
    root = _root(batch.schema, path)
    return _enter(batch.column(root), [] if root == path else path.split(".")[1:])


def _texts_by_row(batch: pa.RecordBatch, path: str) -> Sequence[Sequence[Any] | None]:
    """Return the texts of each row, or the errors of those that are not UTF-8; None for a row that is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values, names = _values(batch, path)
    if not _is_list(values.type):
        return [None if text is None else [text] for text in _texts(values)]
    found: list[list[Any] | None] = [None if null else [] for null in values.is_null().to_pylist()]
    rows = pa.array(range(len(values)))
    while _is_list(values.type):
        rows = rows.take(pc.list_parent_indices(values))
        values, names = _enter(pc.list_flatten(values), names)
    for row, text in zip(rows.to_pylist(), _texts(values), strict=True):
        texts = found[row]
        if text is not None and texts is not None:
            texts.append(text)
    return found


def _enter(values: pa.Array, names: list[str]) -> tuple[pa.Array, list[str]]:
    """Go into fields, as far as the next list; return the values there, and the names that are left."""
    import pyarrow.compute as pc

    while names and not _is_list(values.type):
        values, names = pc.struct_field(values, names[:1]), names[1:]
    return values, names


def _texts(values: pa.Array) -> Sequence[Any]:
    """Return the text of each row, None, or the error of bytes that are not UTF-8."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        texts = values.to_pylist()
    except UnicodeDecodeError:
        texts = values.cast(pa.large_binary()).to_pylist()
    return [_decode(text) if isinstance(text, bytes) else text for text in texts]


def _decode(data: bytes) -> str | UnicodeDecodeError:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return error


_MAGIC = b"ARROW1"
"""How a file begins that contains a stream, and then a list of what is in it."""
_START = 8


def _open(file: BinaryIO) -> tuple[pa.Schema, int | None]:
    """Return the schema and, of a file that lists them, how many batches it has; then the stream in it begins."""
    from pyarrow import ipc

    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        file.seek(0)
        schema = ipc.open_stream(file).schema
        file.seek(0)
        return schema, None
    reader = ipc.open_file(file)
    file.seek(_START)
    return reader.schema, reader.num_record_batches


def _open_stream(file: BinaryIO, schema: pa.Schema, columns: Columns, *, is_all: bool) -> pa.RecordBatchStreamReader:
    """Read only the named columns, and only batches that take up not much more space than in the file.

    pyarrow decompresses whole batches, and says nothing of what follows a stream.
    """
    from pyarrow import ipc

    start = file.tell()
    for stored, size in batch_sizes(file, is_all=is_all):
        if size > max(MAX_PACKED_BYTES, MAX_RATIO * stored):
            raise UnreadableFileError(_PACKED)
    file.seek(start)
    roots = {path.partition(".")[0] for path in (columns.text, columns.ids) if path}
    is_read = [name in roots or name in (columns.text, columns.ids) for name in schema.names]
    included = list(compress(range(len(is_read)), is_read))
    return ipc.open_stream(file, options=ipc.IpcReadOptions(included_fields=included, use_threads=False))


def _read(unit: WorkUnit, columns: Columns) -> Reading:
    require_arrow(unit.file.path)
    row = count = 0
    with open_file(unit.file.path) as file, explained():
        schema, listed = _open(file)
        require_columns(schema, columns)
        for batch in _open_stream(file, schema, columns, is_all=listed is None):
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield from read_batch(batch.slice(start, BATCH_ROWS), columns, row + start)
            row, count = row + batch.num_rows, count + 1
        if listed not in {None, count}:
            raise UnreadableFileError(f"it lists {listed} batches, but contains {count}")


def _columns(path: str) -> Sequence[Column]:
    require_arrow(path)
    with open_file(path) as file, explained():
        return list_columns(_open(file)[0])


ARROW = Source(
    suffixes=(".arrow", ".feather", ".ipc"),
    place="row",
    units=lambda file, _: [WorkUnit(file, size=file.size or 0)],  # a stream cannot be divided
    read=_read,
    columns=_columns,
)
