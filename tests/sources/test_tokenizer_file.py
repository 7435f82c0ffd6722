import json
import shutil

import pytest
from click.testing import CliRunner

import tokverify
from support.paths import SAMPLE
from support.sentencepiece_maker import BPE, BYTE, CONTROL, NORMAL, UNKNOWN, make_model
from tokverify.commands.cli import main
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.sources.tokenizer_file import READERS, read_spec

SENTENCEPIECE = make_model(
    [
        ("<unk>", 0, UNKNOWN),
        ("<s>", 0, CONTROL),
        *((f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)),
        ("▁a", -1, NORMAL),
    ],
    {3: BPE},
)
JSON = json.dumps(
    {
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    }
).encode()
GGUF = (SAMPLE / "sample.gguf").read_bytes()


def test_merges_without_a_vocabulary_are_named_as_a_part(tmp_path):
    (tmp_path / "merges.txt").write_text("a b\n")
    with pytest.raises(UnsupportedError, match=r"merges.txt: only a part of a tokenizer; name the vocab.json"):
        read_spec(tmp_path / "merges.txt")


@pytest.mark.parametrize("name", ["tokenizer.model", "tokenizer", "x.bin"])
@pytest.mark.parametrize(("data", "model"), [(GGUF, "llama"), (SENTENCEPIECE, "llama"), (JSON, "gpt2")])
def test_the_content_determines_the_format(tmp_path, name, data, model):
    (tmp_path / name).write_bytes(data)
    assert read_spec(tmp_path / name).model == model


@pytest.mark.parametrize(
    ("name", "data", "error", "problem"),
    [
        ("absent.model", None, TokverifyError, "no such file"),
        ("empty.model", b"", BrokenFileError, "the file is empty"),
        ("empty.gguf", b"", BrokenFileError, "is empty"),
        ("a.model", b"version https://git-lfs.github.com/spec/v1\n", BrokenFileError, "a Git LFS pointer"),
        ("a.model", b"<html>", BrokenFileError, "not a sentencepiece model"),
        ("a.model", SENTENCEPIECE[:-1], BrokenFileError, "not a sentencepiece model, or a damaged one"),
        ("a.json", b"<html>", BrokenFileError, "not valid JSON"),
        ("a.gguf", JSON, BrokenFileError, "looks like JSON"),
        ("a.bin", b"PK\3\4", BrokenFileError, "looks like a zip archive"),
        ("a.tiktoken", b"IQ== 0\nIg== 1\n", BrokenFileError, "254 of the 256 single bytes are missing"),
        ("a.tiktoken", b"<html>", BrokenFileError, "looks like an HTML or XML page"),
        ("tekken.json", b'{"config": {"pattern": ""}}', BrokenFileError, "no list `vocab`"),
    ],
)
def test_anything_else_gives_one_clear_line(tmp_path, name, data, error, problem):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(error, match=problem) as raised:
        read_spec(str(tmp_path / name))
    assert "\n" not in str(raised.value)


def test_a_directory_is_an_error(tmp_path):
    with pytest.raises(TokverifyError, match="is a directory"):
        read_spec(tmp_path)


def test_every_reader_is_used():
    assert set(READERS) == {"gguf", "tokenizers", "sentencepiece", "tiktoken", "tekken", "rwkv", "vocab"}


def test_load_model_names_the_encoder_after_the_file(tmp_path):
    (tmp_path / "some.tokenizer.model").write_bytes(SENTENCEPIECE)
    encoder = tokverify.load_model(tmp_path / "some.tokenizer.model")
    assert encoder.name == "some.tokenizer"
    assert [encoder.piece(id) for id in encoder.encode("a\n")] == ["▁a", "<0x0A>"]


@pytest.fixture
def run():
    def run_command(*arguments):
        return CliRunner().invoke(main, list(map(str, arguments)))

    return run_command


def test_the_seeds_comparison_is_one_command(run):
    model = SAMPLE / "sample.tokenizer.model"
    result = run("run", model, "-r", model, "-q")
    assert (result.exit_code, result.stderr) == (0, "")


def test_encode_and_decode_accept_such_a_file(run):
    model = SAMPLE / "sample.tokenizer.model"
    ids = json.loads(run("encode", model, "a    b", "--json").stdout)["ids"]
    assert ids == json.loads(run("encode", SAMPLE / "sample.gguf", "a    b", "--json").stdout)["ids"]
    assert run("decode", model, *ids).stdout.strip() == "a····b"


def test_without_a_reference_the_library_reads_the_same_file(run, tmp_path):
    shutil.copy(SAMPLE / "sample.tokenizer.model", tmp_path / "tokenizer.model")
    result = run("run", tmp_path / "tokenizer.model", "--suite", "seed")
    assert result.exit_code == 0
    assert "tokenizer.model is beside the model" in " ".join(result.stdout.split())


def test_unsupported_features_cause_exit_code_2_and_one_line(run, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(json.loads(JSON) | {"pre_tokenizer": {"type": "Whitespace"}}))
    result = run("run", tmp_path / "tokenizer.json")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"error: {tmp_path / 'tokenizer.json'}: pre_tokenizer Whitespace: GGUF cannot express it"
    ]


def test_a_part_that_gguf_cannot_express_is_left_out_and_named(run, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(json.loads(JSON) | {"normalizer": {"type": "NFC"}}))
    result = run("run", tmp_path / "tokenizer.json", "--suite", "normalization")
    assert result.exit_code == 0
    assert "caveat: normalizer NFC: GGUF cannot express it; llama.cpp encodes texts without it" in result.stdout
    assert "TL003 no-normalizer: 3 cases differ" in result.stdout
