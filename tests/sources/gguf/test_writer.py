from array import array
from dataclasses import replace

import gguf
import pytest

from support.spec_maker import bpe_spec, spm_spec
from tokverify.errors import UnsupportedError
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.metadata import read_metadata
from tokverify.sources.gguf.values import changed_values, gguf_values
from tokverify.sources.gguf.writer import with_name, write_gguf
from tokverify.text.utf8 import to_bytes

FULL = replace(
    spm_spec({"▁a": -1.5, "b\0": -2.0, "\udcff": -3.0, "[/INST]\x1b": 0.0}),
    pre="default",
    special_ids={"bos": 1, "eos": 2, "unk": 0, "pad": 2, "fim_pre": 3, "sep": 2, "mask": 4, "eot": 2},
    add_bos=True,
    add_eos=False,
    add_sep=False,
    add_space_prefix=False,
    remove_extra_whitespaces=True,
    lowercase=True,
    strip_accents=False,
    nfc=True,
    charsmap=b"\x04\x00\x00\x00ab\0",
    chat_template="{{ '\ud83d'|length }}".encode("utf-8", "replace").decode(),
    named_chat_templates={"tool_use": "{{ tools }}"},
)


@pytest.mark.parametrize("spec", [FULL, bpe_spec(["a b", "ab c"], {"<|x|>": 3}, add_bos=False)])
def test_written_files_read_back_unchanged(tmp_path, spec):
    write_gguf(tmp_path / "x.gguf", spec)
    again = read_spec(tmp_path / "x.gguf")
    for name in spec.__dataclass_fields__:
        written, read = getattr(spec, name), getattr(again, name)
        if name == "scores" and written:
            written, read = array("f", written), array("f", read)
        elif isinstance(written, list):
            read = list(read)
        if name != "general":
            assert read == written, name
    assert again.general["type"] == "model"


def test_the_name_of_the_model_is_written(tmp_path):
    write_gguf(tmp_path / "x.gguf", with_name(FULL, "fox"))
    assert read_spec(tmp_path / "x.gguf").general == {"architecture": "llama", "type": "model", "name": "fox"}


def test_the_names_of_templates_are_listed(tmp_path):
    write_gguf(tmp_path / "x.gguf", FULL)
    values = read_metadata(tmp_path / "x.gguf", lambda key: "chat_template" in key)
    assert values["tokenizer.chat_templates"].data == ["tool_use"]
    assert values["tokenizer.chat_template.tool_use"].data == "{{ tools }}"


def test_undeclared_values_have_no_key():
    assert set(gguf_values(spm_spec({"a": 0.0}))) == {
        f"tokenizer.ggml.{key}" for key in ("model", "tokens", "scores", "token_type")
    }


def test_files_that_llama_cpp_would_not_load_are_not_written(tmp_path):
    with pytest.raises(UnsupportedError, match="it has no merges"):
        write_gguf(tmp_path / "x.gguf", bpe_spec([]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("id", [None, 4])
def test_a_changed_role_is_also_removed_from_the_other_key_for_it(id):
    old = spm_spec({"a": 0.0}, special_ids={"fim_pre": 3, "bos": 1})
    new = replace(old, special_ids={"bos": 1} if id is None else {"fim_pre": id, "bos": 1})
    changes = {key: value and value.data for key, value in changed_values(old, new).items()}
    assert changes == {"tokenizer.ggml.fim_pre_token_id": id, "tokenizer.ggml.prefix_token_id": None}
    assert "tokenizer.ggml.prefix_token_id" not in changed_values(replace(old, special_ids={}), old)


def test_arrays_have_the_bytes_that_the_library_itself_packs(tmp_path):
    write_gguf(tmp_path / "ours.gguf", FULL)
    library = gguf.GGUFWriter(tmp_path / "theirs.gguf", "llama")
    library.add_type("model")
    for key, value in gguf_values(FULL).items():
        data = list(map(to_bytes, value.data)) if value.element_type is ValueType.STRING else value.data
        data = list(data) if value.type is ValueType.ARRAY else data
        kind = None if value.element_type is None else gguf.GGUFValueType(value.element_type)
        library.add_key_value(key, data, gguf.GGUFValueType(value.type), kind)
    library.write_header_to_file()
    library.write_kv_data_to_file()
    library.close()
    assert (tmp_path / "ours.gguf").read_bytes() == (tmp_path / "theirs.gguf").read_bytes()
