"""Read the text and id columns of Arrow record batches, which Parquet and Arrow files are read into."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tokverify.corpus.document import Columns, Document, Reading, Unreadable
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.source.source import Column
from tokverify.errors import MissingLibraryError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 128
"""Few, because a row can be a book."""


def require_arrow(path: str) -> None:
    """Fail clearly if the library that reads a file is not installed.

    Raises:
        MissingLibraryError: If it is not.
    """
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        advice = "pip install 'tokverify[corpus]'"
        raise MissingLibraryError(f"{path}: reading it requires the library pyarrow; {advice}") from None


def list_columns(schema: pa.Schema) -> list[Column]:
    """List the columns of a schema and the fields inside them."""
    return [column for field in schema for column in _fields(field, "")]


def _fields(field: pa.Field, prefix: str) -> Iterator[Column]:
    from pyarrow import types

    if types.is_struct(field.type):
        for inner in field.type:
            yield from _fields(inner, f"{prefix}{field.name}.")
    else:
        has_ids = _is_list(field.type) and types.is_integer(field.type.value_type)
        yield Column(prefix + field.name, str(field.type), is_text(field.type), has_ids)


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
    return [path for path in (columns.text, columns.ids) if path is not None]


def read_batch(batch: pa.RecordBatch, columns: Columns, first_row: int) -> Reading:
    """Yield the documents of a record batch."""
    texts = None if columns.text is None else _texts(_values(batch, columns.text))
    ids = None if columns.ids is None else _values(batch, columns.ids).to_pylist()
    for index in range(batch.num_rows):
        text = texts[index] if texts is not None else None
        if isinstance(text, Exception) or (texts is not None and text is None):
            yield Unreadable(first_row + index, "the text is not UTF-8" if text else f"{columns.text!r} is null")
        elif ids is None:
            yield Document(first_row + index, text)
        else:
            yield _with_ids(first_row + index, text, ids[index], columns)


def _with_ids(row: int, text: str | None, ids: list[int] | None, columns: Columns) -> Document | Unreadable:
    if ids is None:
        return Unreadable(row, f"{columns.ids!r} is null")
    try:
        return Document(row, text, array("I", ids))
    except (TypeError, OverflowError):
        return Unreadable(row, f"{columns.ids!r} is not a list of ids")


def _values(batch: pa.RecordBatch, path: str) -> pa.Array:
    """Return the values at a path; a row is null if anything around its value is."""
    import pyarrow.compute as pc

    if path in batch.schema.names:
        return batch.column(path)
    names = path.split(".")
    return pc.struct_field(batch.column(names[0]), names[1:])


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
