import random
import struct
from dataclasses import asdict
from math import inf
from pathlib import Path

import pytest

from support import paths
from support.gguf_maker import flag, make_gguf, make_tensor, numbers, plain, string, strings, uint32
from tokverify.engine.build import VARIABLE
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.gguf import keys as gguf_keys
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.keys import SPECIAL_IDS
from tokverify.sources.gguf.metadata import Value
from tokverify.sources.gguf.values import gguf_values
from tokverify.spec import TokenizerSpec, TokenType

SAMPLE = paths.SAMPLE / "sample.gguf"
TOKENS = ["<unk>", "<s>", "</s>", "<0x0A>", "▁the", "  "]
LLAMA = {
    "general.architecture": string("llama"),
    "tokenizer.ggml.model": string("llama"),
    "tokenizer.ggml.tokens": strings(TOKENS),
    "tokenizer.ggml.scores": numbers(ValueType.FLOAT32, [0, 0, 0, 0, -1.5, -1000]),
    "tokenizer.ggml.token_type": numbers(ValueType.INT32, [2, 3, 3, 6, 1, 4]),
    "tokenizer.ggml.bos_token_id": uint32(1),
}
GPT2 = {
    "tokenizer.ggml.model": string("gpt2"),
    "tokenizer.ggml.tokens": strings(["a", "b", "ab"]),
    "tokenizer.ggml.merges": strings(["a b"]),
}


@pytest.fixture
def read(tmp_path: Path):
    path = tmp_path / "model.gguf"

    def read_bytes(data: bytes) -> TokenizerSpec:
        path.write_bytes(data)
        return read_spec(path)

    return read_bytes


def complaint(read, data: bytes, kind: type[TokverifyError] = BrokenFileError) -> str:
    with pytest.raises(kind) as caught:
        read(data)
    message = str(caught.value)
    assert "\n" not in message
    return message.split("model.gguf: ", 1)[1]


def test_an_empty_list_of_merges_is_not_written_back(read):
    spec = read(make_gguf(GPT2 | {"tokenizer.ggml.merges": strings([])}))
    assert "tokenizer.ggml.merges" not in gguf_values(spec)


def test_reads_a_small_tokenizer(read):
    spec = read(make_gguf(LLAMA))
    assert spec.model == "llama"
    assert spec.tokens == TOKENS
    assert list(spec.scores) == [0, 0, 0, 0, -1.5, -1000]
    assert list(spec.types) == [2, 3, 3, 6, 1, 4]
    assert spec.special_ids == {"bos": 1}
    assert spec.general == {"architecture": "llama"}


def test_undeclared_values_are_none(read):
    spec = asdict(read(make_gguf({key: LLAMA[key] for key in ("tokenizer.ggml.model", "tokenizer.ggml.tokens")})))
    declared = {"model": "llama", "tokens": TOKENS, "special_ids": {}, "named_chat_templates": {}, "general": {}}
    declared |= {"left_out": (), "unread_keys": (), "mistyped_keys": {}}
    assert spec == dict.fromkeys(spec) | declared


def test_reads_a_path_given_as_a_string(tmp_path: Path):
    (tmp_path / "model.gguf").write_bytes(make_gguf(LLAMA))
    assert read_spec(str(tmp_path / "model.gguf")) == read_spec(tmp_path / "model.gguf")


@pytest.mark.parametrize("endianness", ["LITTLE", "BIG"])
def test_reads_every_field_that_the_gguf_package_writes(tmp_path: Path, endianness: str):
    import gguf

    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "t5", endianess=gguf.GGUFEndian[endianness])
    writer.add_name("test")
    writer.add_uint32("t5.context_length", 512)
    writer.add_array("t5.other", ["not", "wanted"])
    writer.add_array("general.tags", ["not", "a", "string"])
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([b"<pad>", "▁naïve".encode(), b"\xff", b"", b"a\0b"])
    writer.add_token_scores([0.0, -1.5, -2.25, 3.0, -1000.0])
    writer.add_token_types([3, 1, 6, 1, 4])
    writer.add_token_merges(["a b", "▁ ▁"])
    for id, (_, key) in enumerate(SPECIAL_IDS):
        writer.add_uint32(key, id % 5)
    flags = {
        "add_bos_token": True,
        "add_eos_token": False,
        "add_sep_token": True,
        "add_space_prefix": False,
        "remove_extra_whitespaces": True,
        "normalizer.lowercase": False,
        "normalizer.strip_accents": True,
        "normalizer.nfc": False,
    }
    for name, value in flags.items():
        writer.add_bool("tokenizer.ggml." + name, value)
    writer.add_precompiled_charsmap(b"\x01\0\xff\x80")
    templates = {"default": "{{ bos_token }}", "tool_use": "{{ tools }}"}
    writer.add_chat_template([{"name": name, "template": text} for name, text in templates.items()])
    writer.add_string("tokenizer.huggingface.json", "{}")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()

    spec = {name: plain(value) for name, value in asdict(read_spec(tmp_path / "model.gguf")).items()}
    assert spec == {
        "model": "t5",
        "tokens": ["<pad>", "▁naïve", "\udcff", "", "a\0b"],
        "pre": "default",
        "scores": [0.0, -1.5, -2.25, 3.0, -1000.0],
        "types": [3, 1, 6, 1, 4],
        "merges": ["a b", "▁ ▁"],
        "special_ids": {
            "bos": 0,
            "eos": 1,
            "eot": 2,
            "eom": 3,
            "unk": 4,
            "sep": 0,
            "pad": 1,
            "mask": 2,
            "fim_pre": 4,
            "fim_suf": 0,
            "fim_mid": 1,
            "fim_pad": 1,
            "fim_rep": 2,
            "fim_sep": 3,
        },
        "add_bos": True,
        "add_eos": False,
        "add_sep": True,
        "add_space_prefix": False,
        "remove_extra_whitespaces": True,
        "lowercase": False,
        "strip_accents": True,
        "nfc": False,
        "charsmap": b"\x01\0\xff\x80",
        "chat_template": "{{ bos_token }}",
        "named_chat_templates": {"tool_use": "{{ tools }}"},
        "huggingface_json": "{}",
        "general": {"architecture": "t5", "name": "test"},
        "suppressed": None,
        "unread_keys": (),
        "mistyped_keys": {},
        "embedding_rows": None,
        "left_out": (),
    }


def test_key_names_are_those_of_the_gguf_package():
    from gguf.constants import Keys

    names = Keys.Tokenizer
    ours = {value for name, value in vars(gguf_keys).items() if name.isupper() and isinstance(value, str)}
    ours |= {key for _, key in SPECIAL_IDS}
    keys = {name for name in ours if "." in name}
    theirs = {value for value in vars(names).values() if isinstance(value, str)} | {
        Keys.Split.LLM_KV_SPLIT_NO,
        Keys.Split.LLM_KV_SPLIT_COUNT,
    }
    # The prefix of many keys, and keys of llama.cpp that the package may be too old to know.
    newer = {gguf_keys.LOWERCASE, gguf_keys.STRIP_ACCENTS, gguf_keys.NFC, gguf_keys.SUPPRESSED}
    assert not keys - theirs - {gguf_keys.GENERAL, gguf_keys.TOKENIZER} - newer
    for name in ("MODEL", "PRE", "SCORES", "MERGES", "ADD_BOS", "ADD_EOS", "ADD_SEP", "CHAT_TEMPLATE"):
        assert getattr(gguf_keys, name) == getattr(names, name)
    for role, key in SPECIAL_IDS[:14]:
        assert getattr(names, f"{role.upper()}_ID") == key
    assert [key for _, key in SPECIAL_IDS[14:]] == [names.PREFIX_ID, names.SUFFIX_ID, names.MIDDLE_ID]


def test_scores_can_be_integers(read):
    spec = read(make_gguf(LLAMA | {gguf_keys.SCORES: numbers(ValueType.INT32, [-1, 0, 1, 2, 3, 4])}))
    assert list(spec.scores) == [-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    assert spec.scores.typecode == "f"


def test_a_signed_charsmap_keeps_its_bytes(read):
    spec = read(make_gguf(LLAMA | {gguf_keys.CHARSMAP: numbers(ValueType.INT8, [-1, 127])}))
    assert spec.charsmap == b"\xff\x7f"


def test_a_later_key_for_a_role_wins_in_any_position(read):
    old, new = {"tokenizer.ggml.prefix_token_id": uint32(4)}, {"tokenizer.ggml.fim_pre_token_id": uint32(5)}
    assert read(make_gguf(LLAMA | old | new)).special_ids["fim_pre"] == 4
    assert read(make_gguf(LLAMA | new | old)).special_ids["fim_pre"] == 4


def test_kimi_k2_needs_no_merges(read):
    fields = {key: GPT2[key] for key in ("tokenizer.ggml.model", "tokenizer.ggml.tokens")}
    assert read(make_gguf(fields | {gguf_keys.PRE: string("kimi-k2")})).merges is None


WRONG_TYPES = {
    gguf_keys.MODEL: uint32(1),
    gguf_keys.PRE: strings(["default"]),
    gguf_keys.TOKENS: string("a b c"),
    gguf_keys.MERGES: numbers(ValueType.INT32, [1]),
    gguf_keys.SCORES: numbers(ValueType.FLOAT64, [0] * 6),
    gguf_keys.TYPES: numbers(ValueType.UINT32, [1] * 6),
    gguf_keys.CHARSMAP: numbers(ValueType.UINT16, [1]),
    gguf_keys.ADD_BOS: uint32(1),
    gguf_keys.ADD_EOS: string("true"),
    gguf_keys.ADD_SEP: Value(ValueType.UINT8, 1),
    gguf_keys.ADD_SPACE_PREFIX: numbers(ValueType.BOOL, [1]),
    gguf_keys.REMOVE_EXTRA_WHITESPACES: Value(ValueType.INT8, 1),
    gguf_keys.LOWERCASE: uint32(1),
    gguf_keys.STRIP_ACCENTS: uint32(0),
    gguf_keys.CHAT_TEMPLATE: strings(["{{ bos }}"]),
    gguf_keys.HUGGINGFACE_JSON: numbers(ValueType.UINT8, [1]),
    "tokenizer.ggml.eos_token_id": Value(ValueType.INT32, 2),
    "tokenizer.ggml.middle_token_id": Value(ValueType.UINT64, 2),
}


def test_the_type_of_a_key_that_the_selected_build_does_not_read_does_not_matter(read, monkeypatch: pytest.MonkeyPatch):
    data = make_gguf(LLAMA | {gguf_keys.NFC: uint32(1)})
    with pytest.raises(BrokenFileError, match="is UINT32, must be BOOL"):
        read(data)
    monkeypatch.setenv(VARIABLE, "b10361")
    assert read(data).nfc is None


def test_an_empty_name_of_a_pre_tokenizer_is_a_missing_one(read):
    assert read(make_gguf(LLAMA | {gguf_keys.PRE: string("")})).pre is None


@pytest.mark.parametrize("key", WRONG_TYPES)
def test_a_wrong_type_is_an_error_that_names_the_key(read, key: str):
    message = complaint(read, make_gguf(LLAMA | {key: WRONG_TYPES[key]}))
    assert message.startswith(f"{key}: is {WRONG_TYPES[key].type_name}, must be ")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({gguf_keys.TOKENS: strings([])}, "tokens: is empty"),
        ({gguf_keys.SCORES: numbers(ValueType.FLOAT32, [0])}, "scores: has 1 elements for 6 tokens"),
        ({gguf_keys.SCORES: numbers(ValueType.INT32, [0] * 7)}, "scores: has 7 elements for 6 tokens"),
        ({gguf_keys.TYPES: numbers(ValueType.INT32, [1] * 5)}, "token_type: has 5 elements for 6 tokens"),
        ({gguf_keys.SCORES: numbers(ValueType.FLOAT32, [0] * 5 + [float("nan")])}, "score of id 5 is nan"),
        ({gguf_keys.MODEL: string("gpt2")}, "merges: missing, and tokenizer.ggml.model gpt2 needs it"),
        ({gguf_keys.MODEL: string("gemma4"), gguf_keys.PRE: string("kimi-k2")}, "merges: missing"),
    ],
)
def test_a_contradiction_is_an_error_that_names_the_key(read, fields: dict[str, Value], said: str):
    message = complaint(read, make_gguf(LLAMA | fields))
    assert message.startswith("tokenizer.ggml.")
    assert said in message


def test_infinite_scores_are_read_as_in_llama_cpp(read):
    infinite = [0.0, -inf, inf, -1.0, -inf, 0.0]
    assert list(read(make_gguf(LLAMA | {gguf_keys.SCORES: numbers(ValueType.FLOAT32, infinite)})).scores) == infinite


def test_the_error_for_a_file_without_a_tokenizer_describes_the_file(read):
    fields = {"general.architecture": string("clip\x1b[31m"), "general.type": string("mmproj")}
    message = complaint(read, make_gguf(fields))
    assert "general.architecture is clip\\x1b[31m, general.type is mmproj" in message
    assert complaint(read, make_gguf({})).startswith("tokenizer.ggml.model: missing")
    assert complaint(read, make_gguf({gguf_keys.MODEL: string("llama")})).startswith("tokenizer.ggml.tokens: missing")


@pytest.mark.parametrize(
    ("key", "value"), [(gguf_keys.HUGGINGFACE_JSON, string("{}")), (gguf_keys.TOKENS, strings(["a"]))]
)
def test_a_tokenizer_that_llama_cpp_does_not_load_is_not_called_missing(read, key: str, value: Value):
    message = complaint(read, make_gguf({key: value}))
    assert message.startswith(f"tokenizer.ggml.model: missing: llama.cpp does not load the tokenizer in {key} without")


@pytest.mark.parametrize("model", ["no_vocab", "none"])
def test_a_model_without_a_vocabulary_is_unsupported(read, model: str):
    assert model in complaint(read, make_gguf({gguf_keys.MODEL: string(model)}), UnsupportedError)


def test_a_later_file_of_a_split_model_names_the_first(tmp_path: Path):
    split = {"split.no": Value(ValueType.UINT16, 1), "split.count": Value(ValueType.UINT16, 2)}
    path = tmp_path / "big-00002-of-00002.gguf"
    path.write_bytes(make_gguf(split))
    with pytest.raises(TokverifyError, match=r"name big-00001-of-00002\.gguf$"):
        read_spec(path)
    renamed = path.rename(tmp_path / "renamed.gguf")
    with pytest.raises(TokverifyError, match=r"renamed\.gguf: split\.no: .* the first file contains the tokenizer"):
        read_spec(renamed)
    first = tmp_path / "big-00001-of-00002.gguf"
    first.write_bytes(make_gguf(LLAMA | {**split, "split.no": Value(ValueType.UINT16, 0)}))
    assert read_spec(first).tokens == TOKENS


FACTS = {
    "gemma-3": ("llama", 262_144, None, {"bos": 2, "eos": 1, "unk": 3, "pad": 0}),
    "gemma-4": ("gemma4", 262_144, 514_906, {"bos": 2, "eos": 1, "unk": 3, "pad": 0, "mask": 4}),
    "llama-spm": ("llama", 32_000, None, {"bos": 1, "eos": 2, "unk": 0}),
    "gpt-2": ("gpt2", 50_257, 50_000, {"bos": 50_256, "eos": 50_256}),
    "mpt": ("gpt2", 50_432, 50_009, {"bos": 0, "eos": 0, "unk": 0}),
    "qwen2": ("gpt2", 151_936, 151_387, {"bos": 151_643, "eos": 151_643, "pad": 151_643}),
    "bert-bge": ("bert", 30_522, None, {"unk": 100, "sep": 102, "pad": 0, "mask": 103}),
    "t5": ("t5", 32_100, None, {"eos": 1, "unk": 2, "pad": 0}),
    "xlnet": ("t5", 32_000, None, {"bos": 1, "eos": 2, "unk": 0}),
    "nomic-bert-moe": (
        "t5",
        250_048,
        None,
        {"bos": 0, "eos": 2, "unk": 3, "sep": 2, "pad": 1, "mask": 250_001},
    ),
}


@pytest.mark.parametrize("name", FACTS)
def test_reads_real_vocabularies(vocabs: Path, name: str):
    spec = read_spec(vocabs / f"{name}.gguf")
    merge_count = None if spec.merges is None else len(spec.merges)
    assert (spec.model, len(spec.tokens), merge_count, spec.special_ids) == FACTS[name]
    assert len(spec.types) == len(spec.tokens)


def test_reads_known_facts_of_gemma_3(vocabs: Path):
    spec = read_spec(vocabs / "gemma-3.gguf")
    user_defined = [id for id, kind in enumerate(spec.types) if kind == TokenType.USER_DEFINED]
    assert len(user_defined) == 163
    assert {spec.scores[id] for id in user_defined} == {-1000.0}
    assert (spec.tokens[5], spec.tokens[107], spec.tokens[138], spec.tokens[255_968]) == (
        "[multimodal]",
        "\n",
        "  ",
        "\t",
    )
    assert (spec.add_bos, spec.add_eos, spec.add_space_prefix) == (True, False, False)


def test_truncation_anywhere_is_an_error(read):
    data = SAMPLE.read_bytes()
    for length in [*range(0, len(data), 1000), len(data) - 1]:
        complaint(read, data[:length])


@pytest.mark.slow  # 700 files of a few hundred kB each take some 10 s
def test_a_real_file_truncated_anywhere_is_an_error(read, vocabs: Path):
    data = (vocabs / "llama-spm.gguf").read_bytes()
    for length in [*range(0, len(data), 1000), len(data) - 1]:
        complaint(read, data[:length])


def damage(data: bytes, choose: random.Random) -> bytes:
    damaged = bytearray(data)
    at = choose.randrange(len(data) - 8)
    if choose.random() < 0.2:
        struct.pack_into("<Q", damaged, at, 1 << 60)
    else:
        damaged[at] = choose.randrange(256)
    return bytes(damaged)


def test_a_damaged_file_gives_a_spec_or_an_error(read):
    choose = random.Random(2)  # noqa: S311 - damage, not secrets
    fields = LLAMA | {gguf_keys.MERGES: strings(["▁ the"]), gguf_keys.PRE: string("default")}
    data = make_gguf(fields, tensors=[make_tensor("one"), make_tensor("two", offset=32)]) + bytes(96)
    outcomes = set()
    for _ in range(1000):
        try:
            outcomes.add(type(read(damage(data, choose))))
        except TokverifyError as error:
            outcomes.add(type(error))
            assert str(error).isprintable()  # noqa: PT017 - which inputs fail is not known beforehand
    assert {TokenizerSpec, BrokenFileError, UnsupportedError} <= outcomes


def test_flags_of_a_llama_file_are_read(read):
    spec = read(make_gguf(LLAMA | {gguf_keys.ADD_BOS: flag(False), gguf_keys.ADD_SPACE_PREFIX: flag(True)}))
    assert (spec.add_bos, spec.add_space_prefix, spec.add_eos) == (False, True, None)
