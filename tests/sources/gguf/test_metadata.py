import math
import os
import struct
from pathlib import Path

import gguf
import pytest

from support.gguf_maker import flag, make_gguf, make_tensor, numbers, plain, string, strings, uint32
from support.paths import SAMPLE
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.metadata import Value, read_metadata

HUGE = 1 << 60

EVERY_TYPE = {
    "u8": Value(ValueType.UINT8, 255),
    "i8": Value(ValueType.INT8, -128),
    "u16": Value(ValueType.UINT16, 65535),
    "i16": Value(ValueType.INT16, -32768),
    "u32": Value(ValueType.UINT32, 0xFFFFFFFF),
    "i32": Value(ValueType.INT32, -2),
    "f32": Value(ValueType.FLOAT32, -1000.5),
    "bool": Value(ValueType.BOOL, True),
    "str": Value(ValueType.STRING, "naïve ▁\0\x1b"),
    "u64": Value(ValueType.UINT64, (1 << 64) - 1),
    "i64": Value(ValueType.INT64, -(1 << 63)),
    "f64": Value(ValueType.FLOAT64, 1e300),
    "strs": Value(ValueType.ARRAY, ["", "a b", "日本"], ValueType.STRING),
    "none": Value(ValueType.ARRAY, [], ValueType.STRING),
    "u16s": Value(ValueType.ARRAY, [1, 256, 65535], ValueType.UINT16),
    "f32s": Value(ValueType.ARRAY, [0.5, -math.inf], ValueType.FLOAT32),
    "bools": Value(ValueType.ARRAY, [0, 1], ValueType.BOOL),
    "i64s": Value(ValueType.ARRAY, [-1, 1 << 40], ValueType.INT64),
}


def everything(key: str) -> bool:
    return True


@pytest.fixture
def write(tmp_path: Path):
    path = tmp_path / "model.gguf"

    def write_bytes(data: bytes) -> Path:
        path.write_bytes(data)
        return path

    return write_bytes


def complaint(path: Path, kind: type[TokverifyError] = BrokenFileError) -> str:
    with pytest.raises(kind) as caught:
        read_metadata(path, everything)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_every_type_is_read(write, version: int, order: str):
    values = read_metadata(write(make_gguf(EVERY_TYPE, version=version, order=order)), everything)
    read = {key: Value(value.type, plain(value.data), value.element_type) for key, value in values.items()}
    assert read == EVERY_TYPE


def test_each_type_has_a_name():
    assert EVERY_TYPE["u8"].type_name == "UINT8"
    assert EVERY_TYPE["strs"].type_name == "ARRAY of STRING"


def test_unrequested_values_are_skipped(write):
    path = write(make_gguf(EVERY_TYPE))
    for wanted in EVERY_TYPE:
        assert list(read_metadata(path, wanted.__eq__)) == [wanted]


def test_bytes_that_are_not_utf_8_are_kept(write):
    values = read_metadata(write(make_gguf({"a": string(b"\xff\xc3"), "b": strings([b"\x80"])})), everything)
    assert values["a"].data.encode("utf-8", "surrogateescape") == b"\xff\xc3"
    assert values["b"].data == ["\udc80"]


@pytest.mark.parametrize("texts", [[], ["a\0b", "c"], ["\0"], ["", ""], ["é", "a"]])
@pytest.mark.parametrize("order", ["<", ">"])
def test_strings_are_read_whether_or_not_they_can_be_joined(write, texts: list[str], order: str):
    values = read_metadata(write(make_gguf({"a": strings(texts), "b": uint32(7)}, order=order)), everything)
    assert (values["a"].data, values["b"].data) == (texts, 7)


def test_any_byte_but_zero_is_true(write):
    data = make_gguf({"yes": flag(True)})
    assert read_metadata(write(data[:-1] + b"\x02"), everything)["yes"].data is True


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        (b"PK\x03\x04rest", "zip"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (struct.pack("<Q", 50) + b'{"__metadata__":', "safetensors"),
        (b'{"version": "1.0"}', "JSON"),
        (b'\xef\xbb\xbf\n {"version"', "JSON"),
        (b"\n<!DOCTYPE html>", "HTML"),
        (b"tjgg\x03\0\0\0", "before GGUF"),
        (b"\x1b[31m", "text; name the model's .gguf file"),
        (b"\0", "something else; name the model's .gguf file"),
        (b"secret", "text; name the model's .gguf file"),
    ],
)
def test_files_of_other_formats_are_described(write, head: bytes, said: str):
    message = complaint(write(head))
    assert message.startswith("not a GGUF file; ")
    assert said in message


def test_other_versions_are_refused(write):
    assert "version 1" in complaint(write(make_gguf({}, version=1)), UnsupportedError)
    assert "version 4" in complaint(write(make_gguf({}, version=4)), UnsupportedError)
    assert "version 0" in complaint(write(make_gguf({}, version=0)))


def test_paths_that_are_not_files_are_refused(tmp_path: Path):
    assert "no such file" in complaint(tmp_path / "absent.gguf", TokverifyError)
    assert "directory" in complaint(tmp_path, TokverifyError)
    assert "cannot be read" in complaint(tmp_path / ("x" * 300), TokverifyError)
    assert "cannot be read" in complaint(tmp_path / "\0", TokverifyError)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in complaint(tmp_path / "pipe", TokverifyError)
    (tmp_path / "empty").touch()
    assert "is empty" in complaint(tmp_path / "empty")


def test_the_error_names_the_truncated_key(write):
    data = make_gguf({"first": uint32(1), "second": strings(["one", "two"])})
    message = complaint(write(data[:-1]))
    assert message.startswith("second: truncated: string 1 of 2")
    assert "first" not in message


def test_the_error_names_the_reason_if_the_file_was_taken_for_text(write):
    data = make_gguf({"first": uint32(0x80), "second": strings(["one", "two"])})
    assert "a program took it for text" in complaint(write(data.decode(errors="replace").encode()))


@pytest.mark.parametrize("order", ["<", ">"])
def test_truncation_anywhere_is_an_error(write, order: str):
    tensors = [make_tensor("t", order=order)]
    fields = {"general.alignment": uint32(8), **EVERY_TYPE}
    table = make_gguf(fields, order=order, tensors=tensors)
    whole = table + bytes(-len(table) % 8 + 4)
    read_metadata(write(whole), everything)
    for length in range(len(table) + 1):
        complaint(write(whole[:length]))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("kind", [kind for kind in ValueType if kind is not ValueType.ARRAY])
@pytest.mark.parametrize("count", [HUGE, (1 << 64) - 1, 1000])
def test_an_array_longer_than_the_file_fails_at_once(write, kind: ValueType, count: int, keep: bool):
    head = struct.pack("<Q4sIIQ", 4, b"some", ValueType.ARRAY, kind, count)
    path = write(make_gguf({}, counts=(0, 1)) + head + bytes(400))
    with pytest.raises(BrokenFileError, match=rf"some: truncated: .*{count}"):
        read_metadata(path, lambda key: keep)


@pytest.mark.parametrize("length", [HUGE, (1 << 64) - 1, 9])
def test_a_string_longer_than_the_file_fails_at_once(write, length: int):
    pair = struct.pack("<Q3sIQ", 3, b"key", ValueType.STRING, length) + b"8 bytes."
    assert f"key: truncated: a string of {length}" in complaint(write(make_gguf({}, counts=(0, 1)) + pair))
    element = struct.pack("<Q3sIIQQ", 3, b"key", ValueType.ARRAY, ValueType.STRING, 1, length) + b"8 bytes."
    assert "string 0 of 1" in complaint(write(make_gguf({}, counts=(0, 1)) + element))
    key = struct.pack("<Q", length) + b"8 bytes."
    assert "truncated" in complaint(write(make_gguf({}, counts=(0, 1)) + key))


@pytest.mark.parametrize("counts", [(HUGE, len(EVERY_TYPE)), (0, HUGE)])
def test_a_count_larger_than_the_file_fails_at_once(write, counts: tuple[int, int]):
    assert str(HUGE) in complaint(write(make_gguf(EVERY_TYPE, counts=counts)))


def test_a_count_that_only_zeros_could_satisfy_fails_at_once(tmp_path: Path):
    path = tmp_path / "sparse.gguf"
    for counts in ((1 << 32, 0), (0, 1 << 32)):
        path.write_bytes(make_gguf({}, counts=counts))
        os.truncate(path, 1 << 38)
        complaint(path, UnsupportedError)
    path.write_bytes(
        make_gguf({}, counts=(0, 1)) + struct.pack("<Q1sIIQ", 1, b"k", ValueType.ARRAY, ValueType.STRING, 1 << 32)
    )
    os.truncate(path, 1 << 38)
    assert "exceed the limit" in complaint(path)
    with pytest.raises(BrokenFileError, match="exceed the limit"):
        read_metadata(path, lambda key: False)


def test_damaged_keys_and_types_are_refused(write):
    assert "empty key" in complaint(write(make_gguf({"": uint32(1)})))
    assert "k: damaged: the key occurs twice" in complaint(write(make_gguf([("k", uint32(1)), ("k", flag(True))])))
    pair = struct.pack("<Q1sII", 1, b"k", 13, 0)
    assert "k: damaged: there is no value type 13" in complaint(write(make_gguf({}, counts=(0, 1)) + pair))
    nested = Value(ValueType.ARRAY, [numbers(ValueType.UINT8, [1])], ValueType.ARRAY)
    assert "k: is an array of arrays" in complaint(write(make_gguf({"k": nested})), UnsupportedError)


def test_a_hostile_key_is_not_printed(write):
    fields = [("\x1b[31m\n\u202e", uint32(1))] * 2
    assert "key 2 of 2: damaged" in complaint(write(make_gguf(fields)))


@pytest.mark.parametrize("alignment", [uint32(0), uint32(24), string("32"), numbers(ValueType.UINT32, [32])])
def test_a_bad_alignment_is_refused(write, alignment: Value):
    assert complaint(write(make_gguf({"general.alignment": alignment}))).startswith("general.alignment: damaged")


def test_reads_a_huge_file_with_tensors(tmp_path: Path):
    path = tmp_path / "model.gguf"
    tensors = [make_tensor("first", shape=(1 << 30,)), make_tensor("last", offset=1 << 32)]
    path.write_bytes(make_gguf(EVERY_TYPE, tensors=tensors))
    os.truncate(path, (1 << 32) + 4096)
    assert len(read_metadata(path, everything)) == len(EVERY_TYPE)
    os.truncate(path, 1 << 32)
    assert complaint(path).startswith("tensor data: truncated: needs at least 4294967297 bytes")


def test_an_empty_last_tensor_needs_no_data(write):
    table = make_gguf({}, tensors=[make_tensor("none", shape=(0, 5))])
    assert read_metadata(write(table + bytes(-len(table) % 32)), everything) == {}


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ([make_tensor("t" * 64)], "a string of 64 bytes"),
        ([make_tensor("t"), make_tensor("t")], "tensor 2 of 2: damaged: the tensor's name"),
        ([make_tensor("t", shape=(1, 1, 1, 1, 1))], "5 dimensions"),
        ([make_tensor("t", offset=4)], "offset 4 is not a multiple of 32"),
        ([make_tensor("t", offset=HUGE)], "tensor data: truncated"),
    ],
)
def test_a_damaged_tensor_table_is_refused(write, tensors: list[bytes], said: str):
    assert said in complaint(write(make_gguf({}, tensors=tensors) + bytes(4096)))


def test_an_address_without_its_scheme_is_recognized():
    with pytest.raises(TokverifyError, match=r"127\.0\.0\.1:8080: no such file; .* begins with http://: http://127"):
        read_metadata(Path("127.0.0.1:8080"), everything)


@pytest.mark.parametrize("path", sorted(SAMPLE.glob("*.gguf")), ids=lambda path: path.name)
def test_the_package_gguf_reads_the_same_values(path: Path):
    fields = gguf.GGUFReader(path).fields
    expected = {key: field.contents() for key, field in fields.items() if not key.startswith("GGUF.")}
    values = read_metadata(path, lambda key: True)
    assert {
        key: list(value.data) if value.element_type is not None else value.data for key, value in values.items()
    } == expected
