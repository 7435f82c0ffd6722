import json

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from tokverify.cli import main

MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        ([MODEL, "word   with"], 0, ["added tokens: 1 match", "▁▁▁, which is no piece", "ahead of", "[1733, 409, 5"]),
        ([MODEL, "word   with", "-r", REFERENCE], 0, ["sentencepiece gives the same ids"]),
        ([BROKEN, "word   with", "-r", REFERENCE], 0, ["the first stage to part is: model", "≠"]),
        ([MODEL, "a", "--add-special"], 0, ["<bos> (2) before the text"]),
        ([MODEL, "<bos>", "--no-parse-special"], 0, ["none of", "parse_special off"]),
        ([MODEL, "[/INST]\x1b\u202e", "--full"], 0, ["\\x1b", "\\u202e", "one byte"]),
        ([REFERENCE, "a"], 0, ["1 token"]),
        ([MODEL, "a", "-r", "/no/such/file"], 2, ["error: "]),
        (["/no/such.gguf", "a"], 2, ["error: /no/such.gguf"]),
        ([MODEL, "a", "--file", "x"], 2, ["not both"]),
    ],
)
def test_explain(arguments, code, fragments):
    result = CliRunner().invoke(main, ["explain", *arguments])
    assert result.exit_code == code, result.output
    assert all(fragment in result.output for fragment in fragments), result.output
    assert "Traceback" not in result.output


def test_json():
    result = CliRunner().invoke(main, ["explain", BROKEN, "word   with", "-r", REFERENCE, "--json"])
    told = json.loads(result.stdout)
    assert told["reference"]["first_stage_to_part"] == "model"
    assert told["schema_version"] == 1


def test_stdin_is_taken_exactly():
    result = CliRunner().invoke(main, ["explain", MODEL, "--json"], input=b"a\r\n")
    assert json.loads(result.stdout)["text"] == "a\r\n"
