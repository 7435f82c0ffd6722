import gzip
import io
import json
import sys
from array import array
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from support.corpus_maker import WRITERS, corpus_file, json_lines, overwrite_row_group, write_json_lines, write_parquet
from tokverify.corpus.document import Column, Columns, Document, Unreadable, WorkUnit
from tokverify.corpus.files import UnreadableFileError
from tokverify.corpus.source import SOURCES, arrow, lines
from tokverify.corpus.source import parquet as parquet_source
from tokverify.corpus.source.arrow_size import batch_sizes
from tokverify.errors import MissingLibraryError

TEXTS = ["one", "two\nlines", "", "fünf", "a \U0001f40f", "six"]
TEXT = Columns("text")


def read(path, columns=TEXT, unit_bytes=1 << 20) -> list[Document | Unreadable]:
    file = corpus_file(path)
    source = SOURCES[file.format]
    return [item for unit in source.units(file, unit_bytes) for item in source.read(unit, columns)]


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_yields_all_texts_in_order(tmp_path, name):
    WRITERS[name](tmp_path / name, TEXTS)
    assert [document.text for document in read(tmp_path / name)] == TEXTS


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("unit_bytes", [1, 7, 40, 300])
def test_units_do_not_change_the_documents(tmp_path, name, unit_bytes):
    WRITERS[name](tmp_path / name, TEXTS)
    assert read(tmp_path / name, unit_bytes=unit_bytes) == read(tmp_path / name)


def test_large_files_are_divided(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    (tmp_path / "a.txt").write_text("line\n" * 100_000)
    counts = {}
    for path in sorted(tmp_path.iterdir()):
        file = corpus_file(path)
        units = list(SOURCES[file.format].units(file, 100))
        counts[path.name] = len(units)
        assert sum(unit.size for unit in units) == pytest.approx(file.size, abs=len(units))
    assert counts == {"a.jsonl": -(-len(json_lines(TEXTS)) // 100), "a.parquet": 3, "a.txt": 8}


def test_rows_and_bytes_locate_documents(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    write_json_lines(tmp_path / "a.jsonl", TEXTS)
    assert [document.row for document in read(tmp_path / "a.parquet", unit_bytes=1)] == [0, 1, 2, 3, 4, 5]
    data = (tmp_path / "a.jsonl").read_bytes()
    for document in read(tmp_path / "a.jsonl", unit_bytes=50):
        assert json.loads(data[document.row :].splitlines()[0])["text"] == document.text


def test_documents_of_a_text_end_with_lines_and_do_not_depend_on_units(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(50_000)))
    whole = read(path)
    assert "".join(document.text for document in whole) == path.read_text()
    assert len(whole) == -(-path.stat().st_size // 65536)
    assert all(document.text.endswith("\n") for document in whole)
    assert read(path, unit_bytes=1) == read(path, unit_bytes=200_000) == whole
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "b.txt.gz") == whole


def test_a_text_that_is_not_utf8_is_located(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 65535 + b"\n" + b"\xff\n" + b"y" * 65534 + b"\nlast")
    documents = read(path)
    assert documents[1] == Unreadable(65536, "the text is not UTF-8")
    assert [len(document.text) for document in (documents[0], documents[2])] == [65536, 4]


def test_fields_inside_others(tmp_path):
    rows = [{"meta": {"body": "a"}, "x.y": "b"}, {"meta": None, "x.y": "c"}]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    parquet = read(tmp_path / "a.parquet", Columns("meta.body"))
    assert parquet == [Document(0, "a"), Unreadable(1, "'meta.body' is null", is_null=True)]
    lines = read(tmp_path / "a.jsonl", Columns("meta.body"))
    assert lines == [Document(0, "a"), Unreadable(36, "'meta.body' is null", is_null=True)]
    assert [row.text for row in read(tmp_path / "a.jsonl", Columns("x.y"))] == ["b", "c"]
    assert [row.text for row in read(tmp_path / "a.parquet", Columns("x.y"))] == ["b", "c"]


CHATS = [
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None}], "notes": ["x", None]},
    {"messages": [], "notes": []},
    {"messages": None, "notes": ["y"]},
    {"messages": [{"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}], "notes": ["z"]},
]


def write_rows(path: Path, rows: list[dict]) -> None:
    if path.suffix == ".parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(pa.Table.from_pylist(rows), str(path), chunksize=2)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.jsonl"])
def test_each_text_in_a_list_is_a_document(tmp_path, name):
    write_rows(tmp_path / name, CHATS)
    first, missing, *others = read(tmp_path / name, Columns("messages.content"))
    assert (first, [document.text for document in others]) == (Document(0, "a"), ["b", "c"])
    assert isinstance(missing, Unreadable)
    assert others[0].row == others[1].row > missing.row > 0
    assert [document.text for document in read(tmp_path / name, Columns("notes"))] == ["x", "y", "z"]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_columns_inside_lists(tmp_path, name):
    write_rows(tmp_path / name, CHATS)
    columns = SOURCES[corpus_file(tmp_path / name).format].columns(str(tmp_path / name))
    assert {column.path for column in columns if column.has_text and column.in_lists} == {
        *("messages.role", "messages.content", "notes")
    }


def test_lists_of_lists_of_texts(tmp_path):
    rows = [{"turns": [[{"t": "a"}], [{"t": "b"}, {"t": "c"}]]}, {"turns": [None, [None, {"t": "d"}]]}]
    for name in ("a.parquet", "a.jsonl"):
        write_rows(tmp_path / name, rows)
        assert [document.text for document in read(tmp_path / name, Columns("turns.t"))] == ["a", "b", "c", "d"]
    fixed = pa.array([["a", "b"], None, ["c", None]], pa.list_(pa.string(), 2))
    pa.parquet.write_table(pa.table({"text": fixed}), tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet") == [
        *(Document(0, "a"), Document(0, "b"), Unreadable(1, "'text' is null", is_null=True), Document(2, "c"))
    ]


def test_a_list_of_texts_has_no_ids_of_its_own(tmp_path):
    rows = [{"text": ["a", "b"], "ids": [1, 2]}]
    write_rows(tmp_path / "a.parquet", rows)
    write_rows(tmp_path / "a.jsonl", rows)
    reason = "'text' is a list of texts, and ids belong to one text"
    assert read(tmp_path / "a.jsonl", Columns("text", "ids")) == [Unreadable(0, reason)]
    with pytest.raises(UnreadableFileError, match=reason):
        read(tmp_path / "a.parquet", Columns("text", "ids"))


def test_what_a_list_contains_besides_texts_is_located(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"m": [{"c": "a"}, {"c": 7}]}\n{"m": [{}, "x"]}\n{"m": [{"c": "b"}]}\n')
    assert read(tmp_path / "a.jsonl", Columns("m.c")) == [
        Unreadable(0, "'m.c' is not text"),
        Unreadable(30, "there is no field 'm.c'"),
        Document(47, "b"),
    ]


def test_lists_of_ids(tmp_path):
    write_parquet(tmp_path / "a.parquet", ["a", "b", "c"], ids=[[1, 2], [], None])
    (tmp_path / "a.jsonl").write_text('{"ids": [1, 2]}\n{"ids": [-1]}\n{"ids": "a"}\n{"ids": [1.5]}\n')
    documents = read(tmp_path / "a.parquet", Columns("text", "ids"))
    assert documents == [
        Document(0, "a", array("I", [1, 2])),
        Document(1, "b", array("I")),
        Unreadable(2, "'ids' is null", is_null=True),
    ]
    documents = read(tmp_path / "a.jsonl", Columns(ids="ids"))
    assert documents[0] == Document(0, None, array("I", [1, 2]))
    assert [document.reason for document in documents[1:]] == ["'ids' is not a list of ids"] * 3


def test_rows_that_are_not_text_are_located_and_the_rest_is_read(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text": "a"}\n\n[1]\n{"text": 7}\n{"text": null}\n{}\n{"text": "\xff"}\n{"text": "b"}'
    )
    assert read(tmp_path / "a.jsonl") == [
        Document(0, "a"),
        Unreadable(15, "the line is not a JSON object"),
        Unreadable(19, "'text' is not text"),
        Unreadable(31, "'text' is null", is_null=True),
        Unreadable(46, "there is no field 'text'"),
        Unreadable(49, "the line is not a JSON object"),
        Document(63, "b"),
    ]
    write_parquet(tmp_path / "a.parquet", ["a", None, "b"])
    assert read(tmp_path / "a.parquet") == [
        Document(0, "a"),
        Unreadable(1, "'text' is null", is_null=True),
        Document(2, "b"),
    ]


def test_numbers_that_json_does_not_allow_and_a_byte_order_mark_are_read(tmp_path):
    lines = [b'\xef\xbb\xbf{"text": "a", "loss": NaN}', b'{"text": "b\\ud83d\\ude00", "loss": 1e999}', b'{"text": NaN}']
    (tmp_path / "a.jsonl").write_bytes(
        b"\n".join([*lines, b'{"text": "\\ud83d", "loss": -Infinity}', b'{"text": 1, NaN}'])
    )
    assert [column.path for column in SOURCES["json_lines"].columns(str(tmp_path / "a.jsonl"))] == ["text", "loss"]
    documents = read(tmp_path / "a.jsonl")
    assert [document.text for document in documents[:2]] == ["a", "b\U0001f600"]
    assert [document.reason for document in documents[2:]] == [
        "'text' is not text",
        *["the line is not a JSON object"] * 2,
    ]


def test_null_around_a_field_is_null(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"m": null}\n{"m": [null, {"c": null}, {"c": "a"}]}\n{"ids": null}\n')
    assert read(tmp_path / "a.jsonl", Columns("m.c"))[:2] == [
        Unreadable(0, "'m.c' is null", is_null=True),
        Document(12, "a"),
    ]
    assert read(tmp_path / "a.jsonl", Columns(ids="ids"))[2].is_null


def test_a_lone_surrogate_is_named_as_the_reason(tmp_path):
    lone = [rb'{"text": "\ud83d"}', rb'{"text": "\uDE00\ud83d"}', rb'{"text": "a", "b": "\\\udc00"}']
    others = [rb'{"text": "\ud83d}', rb'["\ud83d"]', rb'{"text": "\q\\ud83d"}']
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*lone, *others, rb'{"text": "\ud83d\ude00\\ud83d"}']))
    *unreadable, pair = read(tmp_path / "a.jsonl")
    assert [document.reason for document in unreadable[:3]] == [
        "the line contains a lone surrogate, which is not valid text"
    ] * 3
    assert [document.reason for document in unreadable[3:]] == ["the line is not a JSON object"] * 3
    assert pair.text == "\U0001f600\\ud83d"


def test_bytes_that_may_not_be_text(tmp_path):
    column = pa.array([b"a", b"\xff", "\u00e4".encode()], pa.binary())
    broken = pa.StringArray.from_buffers(3, *column.buffers()[1:])
    for number, texts in enumerate((column, broken)):
        pa.parquet.write_table(pa.table({"text": texts}), tmp_path / f"{number}.parquet")
        documents = read(tmp_path / f"{number}.parquet")
        assert documents == [Document(0, "a"), Unreadable(1, "the text is not UTF-8"), Document(2, "\u00e4")]


def test_dictionaries_of_texts(tmp_path):
    texts = pa.array(["a", "b", "a"]).dictionary_encode()
    pa.parquet.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    assert [document.text for document in read(tmp_path / "a.parquet")] == ["a", "b", "a"]


def test_a_line_that_would_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 20)
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": "%s"}\n{"text": "b"}\n' % ("x" * 100))
    assert read(tmp_path / "a.jsonl") == [
        Document(0, "a"),
        Unreadable(14, "a line is longer than 64 MiB"),
        Document(127, "b"),
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("rows.parquet", "the file is corrupt or cut off, or has another format than its name says"),
        ("rows.feather", "the file is corrupt or cut off, or has another format than its name says"),
        ("rows.jsonl.gz", "the file ends too early"),
    ],
)
def test_a_broken_file(tmp_path, name, reason):
    WRITERS[name](tmp_path / name, TEXTS)
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) - 9])
    with pytest.raises(UnreadableFileError, match=reason):
        read(tmp_path / name)


def test_a_file_that_is_not_compressed(tmp_path):
    for name, reason in (("a.jsonl.gz", "not compressed as its name says"), ("a.jsonl.zst", "cannot be decompressed")):
        (tmp_path / name).write_bytes(json_lines(TEXTS))
        with pytest.raises(UnreadableFileError, match=reason):
            read(tmp_path / name)


UNDECODABLE = "the row is in a group that cannot be decoded: it is corrupt, or pyarrow does not support its format"


def test_a_corrupt_row_group_is_located_and_the_others_are_read(tmp_path):
    path = tmp_path / "a.parquet"
    write_parquet(path, ["a", "b", "c", "d", "e", "f", "g"])
    overwrite_row_group(path, 1)
    overwrite_row_group(path, 3)
    found = read(path)
    assert found == [
        *(Document(0, "a"), Document(1, "b"), Unreadable(2, UNDECODABLE, 2)),
        *(Document(4, "e"), Document(5, "f"), Unreadable(6, UNDECODABLE)),
    ]
    assert read(path, unit_bytes=1) == found


def test_an_intact_row_group_that_pyarrow_does_not_support_is_not_called_corrupt(tmp_path):
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(pa.table({"text": ["a", "b"]}), path, compression="snappy")
    # In the metadata, the name of the column is followed by the codec.
    snappy, lzo = b"\x04text\x15\x02", b"\x04text\x15\x06"
    assert path.read_bytes().count(snappy) == 1
    path.write_bytes(path.read_bytes().replace(snappy, lzo))
    assert read(path) == [Unreadable(0, UNDECODABLE, 2)]


class FailingFile(io.FileIO):
    """A file of a server that fails once its beginning has been read."""

    def seek(self, offset: int, whence: int = 0) -> int:
        if offset and not whence:
            raise OSError(5, "Input/output error")
        return super().seek(offset, whence)


def test_a_server_that_fails_is_not_a_corrupt_row_group(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    write_parquet(path, TEXTS)
    unit = WorkUnit(corpus_file(path))
    monkeypatch.setattr(Path, "open", lambda self, _: FailingFile(self))
    with pytest.raises(UnreadableFileError, match="Input/output error"):
        list(SOURCES["parquet"].read(unit, TEXT))


def test_a_file_that_vanished(tmp_path):
    WRITERS["rows.parquet"](tmp_path / "a.parquet", TEXTS)
    unit = WorkUnit(corpus_file(tmp_path / "a.parquet"))
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(UnreadableFileError, match="the file does not exist"):
        list(SOURCES["parquet"].read(unit, TEXT))


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather"])
def test_a_library_that_is_not_installed(tmp_path, monkeypatch, name):
    WRITERS[name](tmp_path / name, TEXTS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingLibraryError, match=rf"{name}: .* requires the library pyarrow; pip install"):
        read(tmp_path / name, unit_bytes=1)


def test_a_file_without_the_column(tmp_path):
    write_parquet(tmp_path / "a.parquet", TEXTS)
    for columns, reason in (
        (Columns("body"), "there is no column 'body'"),
        (Columns("id"), "the column 'id' contains int64, not text"),
        (Columns(ids="text"), "the column 'text' contains string, not lists of ids"),
    ):
        with pytest.raises(UnreadableFileError, match=reason):
            read(tmp_path / "a.parquet", columns)


@pytest.mark.parametrize("name", WRITERS)
def test_columns(tmp_path, name):
    WRITERS[name](tmp_path / name, TEXTS)
    columns = SOURCES[corpus_file(tmp_path / name).format].columns(str(tmp_path / name))
    assert [(column.path, column.has_text, column.has_ids) for column in columns] == [
        ("id", False, False),
        ("text", True, False),
    ]


def test_columns_inside_others(tmp_path):
    pa.parquet.write_table(pa.table({"m": [{"a": "x", "ids": [1]}]}), tmp_path / "a.parquet")
    columns = SOURCES["parquet"].columns(str(tmp_path / "a.parquet"))
    assert columns[0] == Column("m.a", "string", has_text=True, has_ids=False, in_lists=False)
    assert (columns[1].path, columns[1].has_ids) == ("m.ids", True)


def test_a_row_that_is_too_long_is_located_and_the_rest_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "MAX_TEXT_BYTES", 1000)
    texts = ["a", "é" * 501, "c"]
    write_parquet(tmp_path / "a.parquet", texts)
    write_rows(tmp_path / "a.feather", [{"text": text} for text in texts])
    for name in ("a.parquet", "a.feather"):
        assert read(tmp_path / name) == [
            Document(0, "a"),
            Unreadable(1, "the text is longer than 64 MiB"),
            Document(2, "c"),
        ]
    monkeypatch.setattr(parquet_source, "MAX_TEXT_BYTES", 1000)
    write_parquet(tmp_path / "b.parquet", ["d" * 2000])
    assert read(tmp_path / "b.parquet") == [Unreadable(0, "the text is longer than 64 MiB")]


def test_a_group_of_rows_in_which_a_few_bytes_can_be_one_huge_text_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_source, "MAX_PACKED_BYTES", 1 << 16)
    table = pa.table({"text": ["a", "b" * 1_000_000, "c"]})
    pa.parquet.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    (found,) = read(tmp_path / "a.parquet")
    assert (found.row, found.documents) == (0, 3)
    assert "200 times as much as in the file" in found.reason
    pa.parquet.write_table(table, tmp_path / "b.parquet", compression="none", use_dictionary=False)
    assert len(read(tmp_path / "b.parquet")) == 3


@pytest.mark.parametrize("write", [pa.ipc.new_stream, pa.ipc.new_file])
@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_batch_in_which_a_few_bytes_can_be_one_huge_text_is_not_decompressed(
    tmp_path, monkeypatch, write, compression
):
    monkeypatch.setattr(arrow, "MAX_PACKED_BYTES", 1 << 16)
    words = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array(["d" * 1_000_000]))
    for texts in (["a", "b" * 1_000_000], words):
        table = pa.table({"text": texts})
        for name, options in (("packed.arrow", pa.ipc.IpcWriteOptions(compression=compression)), ("plain.arrow", None)):
            with write(tmp_path / name, table.schema, options=options) as sink:
                sink.write_table(pa.table({"text": texts[:1]}))
                sink.write_table(table)
        with pytest.raises(UnreadableFileError, match="200 times as much as in the file"):
            read(tmp_path / "packed.arrow")
        assert len(read(tmp_path / "plain.arrow")) == 3


def test_the_sizes_of_batches_are_read_without_decompressing_them(tmp_path):
    table = pa.table({"text": ["a" * 1000, "b"], "count": [1, 2]})
    with pa.ipc.new_stream(tmp_path / "a", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as sink:
        sink.write_table(table)
    data = (tmp_path / "a").read_bytes()
    ((stored, size),) = batch_sizes(io.BytesIO(data), is_all=True)
    # Offsets, texts and counts; what does not become smaller is stored as it is.
    assert stored < 200
    assert 1001 <= size <= 1001 + 3 * 4 + 2 * 8
    for end in range(8, len(data) - 8, 5):
        with pytest.raises(UnreadableFileError, match="corrupt"):
            list(batch_sizes(io.BytesIO(data[:end]), is_all=False))


def test_a_second_stream_in_a_file_is_not_passed_over(tmp_path):
    WRITERS["rows.arrow"](tmp_path / "rows.arrow", TEXTS)
    (tmp_path / "rows.arrow").write_bytes(2 * (tmp_path / "rows.arrow").read_bytes())
    with pytest.raises(UnreadableFileError, match="goes on after the end of its stream"):
        read(tmp_path / "rows.arrow")


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}])
def test_a_value_that_the_file_repeats_is_decoded_a_few_rows_at_a_time(tmp_path, monkeypatch, options):
    monkeypatch.setattr(parquet_source, "_MAX_BATCH_BYTES", 1 << 20)
    pa.parquet.write_table(pa.table({"text": ["x" * 300_000] * 64}), tmp_path / "a.parquet", **options)
    sizes = []
    original = parquet_source.read_batch

    def measure(batch, *arguments):
        sizes.append(batch.num_rows)
        return original(batch, *arguments)

    monkeypatch.setattr(parquet_source, "read_batch", measure)
    assert len(read(tmp_path / "a.parquet")) == 64
    assert max(sizes) == 3
