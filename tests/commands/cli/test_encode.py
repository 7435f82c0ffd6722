"""The forms in which `encode` writes ids, all of which `decode` reads."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import ByteLevel

from support.byte_level_maker import train_byte_level
from support.paths import SAMPLE
from tokverify.commands.cli import main

MODEL = str(SAMPLE / "sample.gguf")
LINES = '"two  words"\n\n{"text": "<bos>a", "id": 7}\n'


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize("form", [[], ["--ids"], ["--json"], ["--json", "--ids"], ["--jsonl"]])
@pytest.mark.parametrize("text", ["two  words [5]\n\n12 tokens\n", "a " * 300, ""])
def test_decode_reads_what_encode_writes(form: list[str], text: str):
    written = run("encode", MODEL, *form, stdin=json.dumps(text) if form == ["--jsonl"] else text).stdout
    decoded = run("decode", MODEL, *(form if form == ["--jsonl"] else ["--json"]), stdin=written)
    assert json.loads(decoded.stdout)["text"] == text


def test_ids_and_count_are_written_alone():
    ids = json.loads(run("encode", MODEL, "two  words", "--json").stdout)["ids"]
    assert run("encode", MODEL, "two  words", "--ids").stdout == " ".join(map(str, ids)) + "\n"
    assert run("encode", MODEL, "two  words", "--count").stdout == f"{len(ids)}\n"
    assert json.loads(run("encode", MODEL, "two  words", "--count", "--json").stdout) == {"count": len(ids)}


def test_a_text_that_needs_more_tokens_than_the_window_fails():
    count = int(run("encode", MODEL, "two  words", "--count").stdout)
    assert run("encode", MODEL, "two  words", "--count", "--max-tokens", str(count)).exit_code == 0
    longer = run("encode", MODEL, "two  words", "--count", "--max-tokens", str(count - 1))
    assert (longer.exit_code, longer.stdout) == (1, f"{count}\n")
    assert longer.stderr == f"too long: {count} tokens, and at most {count - 1} are allowed\n"
    several = run("encode", MODEL, "--jsonl", "--count", "--max-tokens", "2", stdin='"a"\n"two  words"\n')
    assert several.exit_code == 1
    assert several.stderr == f"too long: 1 of 2 texts needs more than 2 tokens: text 2 ({count})\n"


def test_each_line_is_encoded_and_decoded():
    written = run("encode", MODEL, "--jsonl", stdin=LINES).stdout
    assert [json.loads(line)["pieces"][0] for line in written.splitlines()] == ["two", "<bos>"]
    decoded = run("decode", MODEL, "--jsonl", stdin=written).stdout
    assert [json.loads(line)["text"] for line in decoded.splitlines()] == ["two  words", "<bos>a"]
    assert run("decode", MODEL, "--jsonl", stdin="[2]\n").stdout == run("decode", MODEL, "2", "--json").stdout


@pytest.mark.parametrize(
    ("command", "stdin", "complaint"),
    [
        ("encode", '"a"\n5', "line 2: no text; write a string"),
        ("encode", '{"text": ["a"]}', "line 1: no text"),
        ("encode", "a", "line 1: not valid JSON"),
        ("encode", '"a"\n"\\ud800"', "line 2: the text has a lone surrogate"),
        ("decode", "[5]\n[99999]", "line 2: "),
        ("decode", "[5]\n[-1]", "line 2: no ids; write a list of integers"),
        ("decode", "[true]", "line 1: no ids"),
        ("decode", "[99999999999]", "line 1: no ids"),
        ("decode", "5", "line 1: no ids"),
        ("decode", "[" * 100_000, "line 1: not valid JSON"),
    ],
)
def test_a_line_that_is_something_else_is_an_error(command: str, stdin: str, complaint: str):
    result = run(command, MODEL, "--jsonl", stdin=stdin)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert complaint in result.stderr


def test_several_values_need_the_option_for_lines():
    result = run("decode", MODEL, stdin='{"ids": [1]}\n{"ids": [2]}\n')
    assert result.exit_code == 2
    assert "if each line is a value of its own, use --jsonl" in result.stderr


def test_what_llama_cpp_cannot_do_of_a_tokenizer_json_is_said_once(tmp_path: Path):
    tokenizer = train_byte_level(ByteLevel(add_prefix_space=False))
    tokenizer.normalizer = NFC()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    sentence = "normalizer NFC: GGUF cannot express it; llama.cpp encodes texts without it"
    assert run("encode", str(path), "--jsonl", stdin='"a"\n"b"\n').stderr == f"warning: {sentence}\n"
    assert json.loads(run("explain", str(path), "a", "--json").stdout)["warnings"] == [sentence]
