"""Keys that no known build reads are reported by `run`, and fail with `--strict`."""

from dataclasses import replace

import pytest

from support.gguf_maker import make_gguf, numbers, string, strings
from support.spec_maker import bpe_spec
from tokverify.case import Case
from tokverify.commands.tasks.audit import audit_model
from tokverify.commands.tasks.inspect import inspect_model
from tokverify.commands.tasks.opening import open_model
from tokverify.compare.comparison import verify_tokenizers
from tokverify.engine.encoder import Encoder
from tokverify.errors import UnsupportedError
from tokverify.report.run import Verdict
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import read_spec

GPT2 = {
    "general.architecture": string("gpt2"),
    "tokenizer.ggml.model": string("gpt2"),
    "tokenizer.ggml.tokens": strings(["a", "b", "ab"]),
    "tokenizer.ggml.merges": strings(["a b"]),
}


def test_run_warns_and_strict_fails():
    spec = bpe_spec([])
    known, unknown = Encoder(spec), Encoder(replace(spec, unread_keys=("tokenizer.ggml.new_key",)))
    cases = [Case(id="1", suite="s", text="a")]
    [difference] = verify_tokenizers(unknown, known, cases).differences
    assert "does not read tokenizer.ggml.new_key" in difference.message
    assert (difference.severity.name, difference.code, difference.keys) == (
        "WARNING",
        "TV132",
        ("tokenizer.ggml.new_key",),
    )
    report = verify_tokenizers(unknown, known, cases, strict=True)
    assert (report.verdict, report.exit_code) == (Verdict.EQUAL, 1)
    assert verify_tokenizers(unknown, known, cases).exit_code == 0
    assert verify_tokenizers(known, known, cases, strict=True).exit_code == 0


def test_keys_of_the_newest_build_are_known(tmp_path):
    others = {
        "tokenizer.ggml.token_type_count": string("read by another part of llama.cpp"),
        "tokenizer.chat_template.tool_use": string("{{ tools }}"),
        "tokenizer.chat_templates": strings(["tool_use"]),
        "tokenizer.ggml.normalizer.nfkc": string("unknown"),
        "tokenizer.other": string("unknown"),
        "other.tokenizer.key": string("not about the tokenizer"),
    }
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf(GPT2 | others | {"tokenizer.ggml.suppress_tokens": numbers(ValueType.INT32, [1, 7])}))
    spec = read_spec(path)
    assert spec.unread_keys == ("tokenizer.ggml.normalizer.nfkc", "tokenizer.other")
    assert list(spec.suppressed or ()) == [1, 7]


def test_the_model_of_llama_cpps_own_tests_is_known(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf(GPT2 | {"tokenizer.ggml.model": string("test")}))
    with pytest.raises(UnsupportedError, match=r"is test: llama\.cpp has it for its own tests"):
        read_spec(path)


def test_a_file_for_big_endian_machines_says_so(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(make_gguf(GPT2, order=">"))
    assert "a big-endian machine" in inspect_model(path).needs
    assert "needs a big-endian machine" in open_model(path).description.caveat
    assert "needs a big-endian machine" in audit_model(path).caveat
    path.write_bytes(make_gguf(GPT2))
    assert "endian" not in inspect_model(path).needs
