import json

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.report.codec import SCHEMA_VERSION

MODEL, BROKEN, REFERENCE = (
    str(SAMPLE / name) for name in ("sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
)


@pytest.mark.parametrize(
    ("arguments", "code", "fragments"),
    [
        ([MODEL, "word   with"], 0, ["added tokens: 1 match", "need the piece ▁▁▁", "preferred to", "[1733, 409, 5"]),
        ([MODEL, "word   with", "-r", REFERENCE], 0, ["sentencepiece returns the same ids"]),
        ([BROKEN, "word   with", "-r", REFERENCE], 0, ["the first stage that differs is: model", "≠"]),
        ([MODEL, "a", "--add-special"], 0, ["<bos> (2) before the text"]),
        ([MODEL, "<bos>", "--no-parse-special"], 0, ["no match (", "parse_special off"]),
        ([MODEL, "[/INST]\x1b\u202e", "-v"], 0, ["\\x1b", "\\u202e", "one byte"]),
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
    document = json.loads(result.stdout)
    assert document["reference"]["first"] == "model"
    assert (document["schema_version"], document["kind"]) == (SCHEMA_VERSION, "explain")


def test_stdin_is_read_verbatim():
    result = CliRunner().invoke(main, ["explain", MODEL, "--json"], input=b"a\r\n")
    assert json.loads(result.stdout)["text"] == "a\r\n"
