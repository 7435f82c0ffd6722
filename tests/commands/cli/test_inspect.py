"""Test `tokverify inspect`: text, JSON, and hostile files."""

import json

import pytest
from click.testing import CliRunner, Result

from support.gguf_maker import make_gguf, numbers, string, strings
from support.hostile import FORBIDDEN, TEXTS, write_hostile
from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.report.codec import SCHEMA_VERSION
from tokverify.sources.gguf.cursor import ValueType

MODEL = str(SAMPLE / "sample.gguf")

# Arguments, exit code, fragments of stdout, fragments of stderr.
TABLE = [
    (
        [MODEL],
        0,
        ["llama, algorithm spm", "2,000 tokens", "eos 1 <eos> declared"],
        [],
    ),
    ([MODEL], 0, ["add_bos true true", "ends generation: 1 <eos>", "chat template none"], []),
    ([MODEL, "--tokens", "4-6,1"], 0, ["4 ·· ·· 20 20 USER_DEFINED", "4 tokens"], []),
    ([MODEL, "--tokens", "<b*>"], 0, ["<bos> 3c 62 6f 73 3e CONTROL", "1 token"], []),
    ([MODEL, "--tokens", "4", "--json"], 0, ['"token_bytes": "2020"', '"declared": "USER_DEFINED"'], []),
    ([MODEL, "--tokens", "?*"], 0, ["... 1,000 more, shown with --json ...", "2,000 tokens"], []),
    ([MODEL, "--tokens", "5000"], 2, [], ["no token matches '5000': ids range from 0 to 1999"]),
    ([MODEL, "--tokens", "9-1"], 2, [], ["no token matches"]),
    ([MODEL, "--tokens", "-"], 2, [], ["is not a range of ids"]),
    (["absent.gguf"], 2, [], ["no such file"]),
]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["inspect", *arguments])


@pytest.mark.parametrize(("arguments", "code", "stdout", "stderr"), TABLE)
def test_command(arguments, code, stdout, stderr):
    result = run(*arguments)
    assert result.exit_code == code, result.output
    flat = " ".join(result.stdout.split())
    for fragment in stdout:
        assert fragment in flat
    for fragment in stderr:
        assert fragment in result.stderr


def test_json():
    document = json.loads(run(MODEL, "--json").stdout)
    assert (document["schema_version"], document["kind"]) == (SCHEMA_VERSION, "inspect")
    assert document["types"][2]["name"] == "USER_DEFINED"
    assert document["types"][2]["runs"][0]["repeated"] == " "
    assert {"name": "add_bos", "declared": True, "effective": True, "reason": ""} in document["flags"]
    assert document["eog"] == [{"id": 1, "piece": "<eos>"}]
    assert len(document["fingerprint"]) == 64


BROKEN = {
    "tokenizer.ggml.token_type: has 2 elements for 3 tokens": {
        "tokenizer.ggml.token_type": numbers(ValueType.INT32, [2, 3])
    },
    "tokenizer.ggml.add_bos_token: is STRING": {"tokenizer.ggml.add_bos_token": string("yes")},
    "tokenizer.ggml.merges: missing": {"tokenizer.ggml.model": string("gpt2")},
    "tokverify knows": {"tokenizer.ggml.model": string("other")},
}


@pytest.mark.parametrize(("message", "changed"), BROKEN.items(), ids=BROKEN)
def test_a_file_that_cannot_be_loaded_is_summarized_with_the_reason(tmp_path, message, changed):
    path = tmp_path / "model.gguf"
    fields = {"tokenizer.ggml.model": string("llama"), "tokenizer.ggml.tokens": strings(["<unk>", "a", "b"])}
    path.write_bytes(make_gguf(fields | changed))
    result = run(str(path))
    assert result.exit_code == 0, result.output
    printed = " ".join(result.stdout.split())
    assert "not loaded" in printed
    assert message in printed
    assert "3 tokens" in printed
    assert json.loads(run(str(path), "--json").stdout)["refusal"]
    assert "3 tokens" in run(str(path), "--tokens", "0-").stdout


@pytest.mark.parametrize("refused", [True, False])
@pytest.mark.parametrize("options", [[], ["-v"], ["--json"], ["--tokens", "259-"], ["--tokens", "259-", "--json"]])
def test_hostile_file(tmp_path, options, refused):
    result = run(str(write_hostile(tmp_path / "hostile.gguf", refused=refused)), *options)
    assert result.exit_code == 0, result.output
    assert not any(character in result.stdout for character in FORBIDDEN)


def test_hostile_tokens_are_listed_in_full(tmp_path):
    path = str(write_hostile(tmp_path / "hostile.gguf"))
    listed = json.loads(run(path, "--tokens", "259-", "--json").stdout)["tokens"]
    assert [token["piece"] for token in listed] == [
        text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text for text in TEXTS
    ]
    assert len(run(path, "--tokens", "259-").stdout) < 20_000
