"""Attacks that once crashed tokverify, kept it busy or filled the memory: each is an ordinary error or result now."""

import base64
import json
import struct
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.gguf_maker import make_gguf, numbers, string, strings
from support.paths import SAMPLE
from support.rank_maker import byte_ranks
from support.selection import thinned
from support.spec_file import write_spec
from support.spec_maker import bpe_spec, spec_of, spm_spec
from tokverify.commands.cli import main
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec
from tokverify.sources.gguf.patch import write_patched
from tokverify.spec import TokenType

GGUF, MODEL = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code in {0, 1, 2}, result.output
    return result


def refused(*arguments: object) -> str:
    """Run a command that must fail with one line on stderr; return the line."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("error: ")
    assert len(result.stderr) < 2000
    return result.stderr


def ranks_file(path: Path, *tokens: bytes) -> Path:
    path.write_bytes(byte_ranks(*tokens))
    return path


@pytest.mark.parametrize(("key", "count"), thinned(3, product(["token_type", "scores"], [0, 1, -1, 5])))
def test_fix_of_a_file_with_too_few_or_too_many_values(tmp_path: Path, key: str, count: int):
    spec = read_spec(GGUF)
    values = list((spec.types if key == "token_type" else spec.scores) or ())
    changed = [*values, *[99] * count] if count > 1 else values[: count if count >= 0 else len(values) - 1]
    kind = ValueType.INT32 if key == "token_type" else ValueType.FLOAT32
    model = tmp_path / "model.gguf"
    write_patched(GGUF, model, {f"tokenizer.ggml.{key}": numbers(kind, changed)})
    run("fix", model, "-r", MODEL, "-o", tmp_path / "fixed.gguf")
    run("audit", model, "-r", MODEL)


def plamo_spec(**scores: float):
    pieces = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = ["<|plamo:unk|>", *pieces, *scores]
    types = dict.fromkeys(pieces, TokenType.BYTE.value)
    return spec_of("plamo2", tokens, types, scores=[0.0] * 257 + list(scores.values()))


def test_fix_of_a_plamo_file_with_a_score_that_is_no_number(tmp_path: Path):
    model = tmp_path / "model.gguf"
    write_spec(plamo_spec(a=float("nan"), b=-1.0), model)
    assert "the score of id 257 is nan" in refused("encode", model, "ab")
    run("fix", model, "-r", MODEL, "-o", tmp_path / "fixed.gguf")


@pytest.mark.parametrize("pattern", ["(a+)+$", "a{99999}", "( +)+$", "(?:x|x)*y", "(.*)*\\z!", ""])
def test_a_tiktoken_pattern_that_matches_nothing_or_takes_forever(tmp_path: Path, pattern: str):
    path = ranks_file(tmp_path / "x.tiktoken")
    assert "pattern" in refused("encode", f"{path}:{pattern}", "hi")


@pytest.mark.parametrize("command", thinned(2, ["run", "diff"]))
def test_a_reference_whose_pattern_takes_exponential_time(tmp_path: Path, command: str):
    path = ranks_file(tmp_path / "x.tiktoken")
    suite = tmp_path / "suite.yaml"
    texts = "".join(f"  - {{id: c{at}, text: {'a' * (30 + at)}!}}\n" for at in range(1000))
    suite.write_text(f"suite: s\ncases:\n{texts}")
    options = ("-r",) if command == "run" else ()
    assert "no real pattern causes" in refused(command, GGUF, *options, f"{path}:(?:a|aa)+(?=b)|.", "--cases", suite)


@pytest.mark.parametrize("id", thinned(6, ["9" * 5000, "1" * 12, "-1", "\u0663", "1e3", ""]))
@pytest.mark.slow
def test_an_added_token_with_an_id_that_is_none(tmp_path: Path, id: str):
    path = ranks_file(tmp_path / "qwen.tiktoken", b"ab")
    config = {"added_tokens_decoder": {id: {"content": "<|end|>"}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    run("encode", f"{path}:llama3", "hi")
    run("run", GGUF, "-r", f"{path}:llama3")


def test_a_tiktoken_file_with_long_tokens(tmp_path: Path):
    path = ranks_file(tmp_path / "x.tiktoken", *(b"a" * length for length in range(1000, 60_000, 1000)))
    assert "a token of more than 1,024 bytes, the limit" in refused("encode", f"{path}:llama3", "hi")


@pytest.mark.parametrize("pattern", ["(a+)+$", "a{99999}", "(?:x|x)*y", "(", ""])
def test_a_tekken_pattern_that_matches_nothing_or_takes_forever(tmp_path: Path, pattern: str):
    vocab = [
        {"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode(), "token_str": None}
        for byte in range(256)
    ]
    config = {"pattern": pattern, "default_vocab_size": 266, "default_num_special_tokens": 10, "version": "v7"}
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps({"config": config, "vocab": vocab, "special_tokens": []}))
    assert "pattern" in refused("encode", path, "hi")


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        ("tokenizer.model", b"IQ=== 1", "not a token in base64"),
        ("tokenizer.model", b"== 1", "not a token in base64"),
        ("tokenizer.model", b"\xff\xfe 1", "not a token in base64"),
        ("tokenizer.model", "IQ== \u0661".encode(), "not a token in base64"),
        ("tokenizer.model", b"Ig== 0", "two tokens have the same id"),
        ("tokenizer.model", b"Ig== 1048575", "single bytes are missing"),
        ("tokenizer.model", b"QUFB" * (1 << 20) + b" 1", "a token of more than 1,024 bytes"),
        ("rwkv.txt", b"2 '" + b"a" * (1 << 20) + b"' 1048576", "not an id, a token"),
        ("rwkv.txt", b"2 '\xff' 1", "not an id, a token"),
        ("rwkv.txt", b"1 'b' 1", "the id 1 is used twice"),
    ],
)
def test_a_hostile_line_of_a_vocabulary(tmp_path: Path, name: str, line: bytes, problem: str):
    path = tmp_path / name
    path.write_bytes((b"1 'a' 1\n" if name == "rwkv.txt" else b"IQ== 0\n") + line + b"\n")
    out = tmp_path / "out.gguf"
    for arguments in (("encode", path, "a"), ("run", GGUF, "-r", path), ("convert", path, "-o", out)):
        assert problem in refused(*arguments)


@pytest.mark.parametrize(("name", "first"), [("tokenizer.model", b"IQ== 0\n"), ("rwkv.txt", b"1 'a' 1\n")])
def test_a_line_of_a_hundred_megabytes(tmp_path: Path, name: str, first: bytes):
    path = tmp_path / name
    path.write_bytes(first + b"A" * 100_000_000)
    assert "16 MiB, the limits for a t" in refused("encode", path, "a")
    assert "16 MiB, the limits for a t" in refused("run", GGUF, "-r", path)


def tokenizer_json(**parts: object) -> str:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}
    outline = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "model": model}
    return json.dumps(outline | parts)


def test_an_id_far_beyond_the_others(tmp_path: Path):
    model = {"type": "BPE", "vocab": {"a": 0, "b": (1 << 24) - 1}, "merges": []}
    path = tmp_path / "tokenizer.json"
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    path.write_text(tokenizer_json(model=model, pre_tokenizer=byte_level))
    assert "16,777,215" in refused("run", GGUF, "-r", path)
    assert "16777215" in refused("encode", path, "a")


def test_replacements_that_multiply(tmp_path: Path):
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000}
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(normalizer={"type": "Sequence", "normalizers": [step] * 4}))
    for arguments in (("run", GGUF, "-r", path), ("encode", path, "a"), ("convert", path, "-o", tmp_path / "x.gguf")):
        assert "more than 1,024 times longer" in refused(*arguments)


@pytest.mark.parametrize(
    "charsmap", ["7dM/hT6IoU2RnclL0P/oRg==", "", "AAAA", "!", None, 5, base64.b64encode(b"\xff" * 8).decode()]
)
def test_a_charsmap_that_asks_for_memory(tmp_path: Path, charsmap: object):
    precompiled = {"type": "Precompiled", "precompiled_charsmap": charsmap}
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(normalizer={"type": "Sequence", "normalizers": [precompiled]}))
    for arguments in (("run", GGUF, "-r", path), ("encode", path, "a")):
        assert "the charsmap is damaged" in refused(*arguments)


@pytest.mark.parametrize("type", ["WordLevel", "WordPiece"])
@pytest.mark.parametrize("content", ["\x85", "\ue000", "\u0301"])
def test_an_added_token_of_which_the_normalizer_leaves_nothing(tmp_path: Path, type: str, content: str):
    model = {"type": type, "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
    words = {"max_input_chars_per_word": 100, "continuing_subword_prefix": "##"} if type == "WordPiece" else {}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    added = [{"id": 2 + at, "content": text, **flags, "normalized": True} for at, text in enumerate([content, "ab"])]
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
    path = tmp_path / "tokenizer.json"
    stages = {"normalizer": {**normalizer, "strip_accents": None}, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    path.write_text(tokenizer_json(model=model | words, added_tokens=added, **stages))
    assert "the normalizer removes the added token 2" in refused("run", GGUF, "-r", path)
    added[0]["normalized"] = False
    path.write_text(tokenizer_json(model=model | words, added_tokens=added, **stages))
    run("run", GGUF, "-r", path, "--no-diagnose")


def test_an_id_in_vocab_json_that_asks_for_memory(tmp_path: Path):
    path = tmp_path / "vocab.json"
    path.write_text(json.dumps({"a": 0, "b": 1 << 31}))
    (tmp_path / "merges.txt").write_text("a b\n")
    assert "an id of more than 1,048,576" in refused("run", GGUF, "-r", path)


def test_json_that_would_fill_the_memory(tmp_path: Path):
    content = b'{"model": {"vocab": [' + b"{}," * 8_000_000 + b"{}]}}"
    for name, arguments in (
        ("tokenizer.json", ("encode", "{}", "a")),
        ("tokenizer.json", ("run", GGUF, "-r", "{}")),
        ("tekken.json", ("run", GGUF, "-r", "{}")),
        ("tekken.json", ("encode", "{}", "a")),
        ("report.json", ("report", "show", "{}")),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        assert "of memory" in refused(*(str(argument).format(path) for argument in arguments))


def test_a_plamo_piece_of_a_hundred_kilobytes(tmp_path: Path):
    model = tmp_path / "model.gguf"
    write_spec(plamo_spec(**{"ab" * 50_000: -1.0, "hide": -1000.0, "a": -2.0}), model)
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30));"
        "from tokverify.commands.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "encode", str(model), "ab hide ab"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("tokens", [["é " * 50_000], [f"{at}{' ' * 300}" for at in range(10_000)]])
def test_tokens_that_decode_to_gigabytes(tmp_path: Path, tokens: list[str]):
    write_spec(bpe_spec(["a b"], tokens=tokens), tmp_path / "model.gguf")
    assert "decode to more than 268,435,456 characters" in refused("encode", tmp_path / "model.gguf", "a")


def test_many_plamo_pieces_that_hide_others_and_begin_alike(tmp_path: Path):
    model = tmp_path / "model.gguf"
    write_spec(plamo_spec(**{"a" * length: -1000.0 for length in range(1, 700)}), model)
    assert run("encode", model, "b" + "a" * 900).exit_code == 0


def test_running_out_of_memory_is_no_bug(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tokverify.commands.tasks.encode.open_model", fail_with_memory_error)
    assert "out of memory" in refused("encode", GGUF, "a")


def fail_with_memory_error(*_: object) -> None:
    raise MemoryError


def test_a_file_truncated_while_it_is_read(tmp_path: Path):
    path = tmp_path / "model.gguf"
    names = [f"t{number:07}" for number in range(300_000)]
    path.write_bytes(make_gguf({"tokenizer.ggml.model": string("llama"), "tokenizer.ggml.tokens": strings(names)}))
    code = (
        "import os, sys; from tokverify.sources.gguf import metadata; old = metadata.read_header;"
        "metadata.read_header = lambda cursor: (old(cursor), os.truncate(sys.argv[2], 1000))[0];"
        "from tokverify.commands.cli import main; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "encode", str(path), "a"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.returncode, result.stdout) == (2, "")
    assert "was truncated while it was read" in result.stderr


@pytest.mark.parametrize("key", ["tokenizer.ggml.pre", "tokenizer.ggml.model", "general.architecture", "general.name"])
def test_a_long_value_is_not_printed(tmp_path: Path, key: str):
    path = tmp_path / "model.gguf"
    write_patched(GGUF, path, {key: string("phi-3 \n" * 10_000)})
    result = run("encode", path, "a")
    assert len(result.stderr) < 1200
    write_spec(bpe_spec(["a b"], pre="x" * 70_000), path)
    assert len(refused("encode", path, "a")) < 1200


def test_a_newline_in_a_name_does_not_begin_another_error(tmp_path: Path):
    name = "model\nerror: all is well.gguf"
    for path in (tmp_path / name, tmp_path / "absent" / name):
        assert "model↵error: all is well" in refused("encode", path, "a")
    (tmp_path / name).write_bytes(b"not a model")
    assert "model↵error: all is well" in refused("run", tmp_path / name)


CANARY = "correct-horse-battery-staple"


@pytest.mark.parametrize(
    "content",
    [
        f"{CANARY}\n",
        f"[default]\naws_secret = {CANARY}\n",
        f"{CANARY}: {CANARY}\n",
        f"- {CANARY}\n- {CANARY}: 1\n",
        f"user: {CANARY}\nuser: {CANARY}\n",
        f"a: *{CANARY}\n",
        f"a: !{CANARY} b\n",
        f"%TAG !{CANARY}! x\n---\na: !{CANARY} b\n",
        f"%TAG ! {CANARY}\n%TAG ! {CANARY}\n---\na\n",
        f"a: !{CANARY}!x b\n",
        json.dumps({"model": {"type": CANARY}, "key": CANARY}),
        json.dumps({"model": {"type": "BPE", "vocab": CANARY}, "config": CANARY, "vocab": [CANARY]}),
        json.dumps({"kind": CANARY, "schema_version": CANARY}),
        f'{{"{CANARY}": ',
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ("run", GGUF, "--cases", "{}"),
        ("run", GGUF, "--baseline", "{}"),
        ("run", "{}"),
        ("run", GGUF, "-r", "{}"),
        ("run", GGUF, "-r", "tekken:{}"),
        ("run", GGUF, "-r", "sentencepiece:{}"),
        ("run", GGUF, "-r", "tiktoken:{}:llama3"),
        ("run", GGUF, "-r", "rwkv:{}"),
        ("run", GGUF, "--no-reference", "--waivers", "{}"),
        ("chat", GGUF, "--conversations", "{}"),
        ("report", "show", "{}"),
    ],
)
def test_no_error_quotes_a_file_that_is_something_else(tmp_path: Path, content: str, arguments: tuple[object, ...]):
    path = tmp_path / "id_ed25519"
    path.write_text(content)
    result = run(*(str(argument).format(path) for argument in arguments))
    assert result.exit_code == 2
    assert CANARY not in result.output


def test_many_scored_pieces_of_many_lengths(tmp_path: Path):
    path = tmp_path / "model.gguf"
    write_spec(spm_spec({"a" * length: -float(length) for length in range(1, 1500)}), path)
    assert run("encode", path, "a" * 3000).exit_code == 0


def test_a_sentencepiece_model_of_empty_pieces(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"\n\0" * 9_000_000)
    for arguments in (("encode", path, "a"), ("run", GGUF, "-r", path)):
        assert "pieces" in refused(*arguments)


def test_a_hostile_charsmap_is_refused(tmp_path: Path):
    strings = b"a" * 5000 + b"\0"
    data = struct.pack("<II", 4, 0) + strings
    tokens = ["<pad>", "</s>", "<unk>", "▁a"]
    spec = spec_of("t5", tokens, {"<unk>": 2}, scores=[0.0] * 4, charsmap=data)
    path = tmp_path / "model.gguf"
    write_spec(spec, path)
    assert "replacement of more than 1,024 bytes" in refused("encode", path, "a")
