"""Test that a model is opened once per run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tokverify
from support.gguf_maker import make_gguf, string, strings
from support.paths import ROOT, SAMPLE
from support.selection import thinned
from tokverify import OpenedReference
from tokverify.commands.tasks.opening import open_model
from tokverify.engine.byte_level import byte_alphabet
from tokverify.errors import TokverifyError

MODEL, REFERENCE = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"
SEED = ROOT / "cases" / "seed.yaml"
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
COUNTING = """
import collections, json, os, sys
from tokverify.commands.cli import main

opened = collections.Counter()
sys.addaudithook(lambda event, args: event == "open" and opened.update([os.path.basename(str(args[0]))]))
try:
    main(sys.argv[1:])
except SystemExit:
    print(json.dumps(opened), file=sys.stderr)
"""


def count_opens(*arguments: object) -> dict[str, int]:
    """Run a command in its own process and count how often it opens each file, by name."""
    command = [sys.executable, "-c", COUNTING, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Paths of the same tokenizer in two formats, with a chat template."""
    directory = tmp_path_factory.mktemp("references")
    model, document = directory / "tokenizer.model", directory / "tokenizer.json"
    model.write_bytes(REFERENCE.read_bytes())
    tokverify.convert_tokenizer(model, document, [], count=0, force=True)
    template = "{% for message in messages %}{{ message.content }}{% endfor %}"
    (directory / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    return {"sentencepiece": model, "tokenizers": document}


@pytest.mark.parametrize(
    "arguments",
    thinned(
        2,
        [
            ["run", MODEL, "-r", REFERENCE, "--suite", "seed"],
            ["run", SAMPLE / "sample-broken.gguf", "-r", REFERENCE, "--suite", "seed"],
            ["fuzz", MODEL, "-r", REFERENCE, "--texts", "50"],
        ],
    ),
    ids=["run", "run with a diagnosis", "fuzz"],
)
def test_a_model_is_read_once_and_hashed_once(arguments):
    assert count_opens(*arguments)[arguments[1].name] == 2


@pytest.mark.parametrize(
    "arguments",
    thinned(
        2,
        [
            ["run", SAMPLE / "sample.gguf", "--suite", "seed"],
            ["run", SAMPLE / "sample-broken.gguf", "--suite", "seed"],
            ["fuzz", MODEL, "--texts", "50"],
            ["audit", MODEL],
            ["explain", MODEL, "a"],
            ["chat", MODEL],
            ["fix", SAMPLE / "sample-broken.gguf", "--dry-run", "--cases", SEED],
        ],
    ),
    ids=["run", "run with a diagnosis", "fuzz", "audit", "explain", "chat", "fix"],
)
@pytest.mark.parametrize("reference", thinned(2, ["sentencepiece", "tokenizers"]))
def test_a_reference_is_recognized_once_and_read_once(arguments, reference, references):
    path = references[reference]
    assert count_opens(*arguments, "-r", path)[path.name] == 2


def test_a_model_that_is_only_used_is_not_hashed():
    assert count_opens("encode", MODEL, "a")["sample.gguf"] == 1
    assert count_opens("explain", MODEL, "a", "-r", REFERENCE)["sample.gguf"] == 1


def test_an_opened_model_is_used_as_it_is():
    model = tokverify.open_model(MODEL)
    assert tokverify.open_model(model) is model
    assert (model.kind, model.path) == ("gguf", MODEL)
    assert model.encoder.spec is model.spec
    assert model.description is model.description
    assert len(model.description.sha256) == 64


def test_an_opened_reference_is_used_as_it_is():
    model = tokverify.open_model(MODEL)
    reference = tokverify.open_reference(model, REFERENCE)
    assert tokverify.open_reference(model, reference) is reference
    assert reference.path == REFERENCE
    assert {"python", "sentencepiece"} <= set(reference.versions)


def test_the_side_of_a_large_model_has_no_digest(monkeypatch):
    monkeypatch.setattr("tokverify.compare.opened._MAX_HASHED_BYTES", 10)
    assert tokverify.open_model(MODEL).description.sha256 is None


def open_reference(path: Path) -> OpenedReference:
    return tokverify.open_reference(tokverify.open_model(MODEL), path)


@pytest.mark.parametrize("open_file", [tokverify.open_model, open_reference])
def test_an_error_in_the_declared_settings_names_the_file(open_file, tmp_path):
    path = tmp_path / "unknown.gguf"
    path.write_bytes(make_gguf({"tokenizer.ggml.model": string("new"), "tokenizer.ggml.tokens": strings(["a"])}))
    with pytest.raises(TokverifyError) as caught:
        open_file(path)
    assert str(caught.value).startswith(f"{path}: tokenizer.ggml.model is 'new'; ")


def test_an_unreadable_model_is_an_error(tmp_path):
    with pytest.raises(TokverifyError, match="no such file"):
        tokverify.open_model(tmp_path / "absent.gguf")


def test_the_end_of_a_tokenizer_json_is_that_of_its_converted_file(tmp_path):
    texts = ["<|endoftext|>", *sorted(byte_alphabet().values())]
    document = {
        "model": {"type": "BPE", "vocab": {text: id for id, text in enumerate(texts)}, "merges": []},
        "added_tokens": [{"id": 0, "content": texts[0], "special": True, **dict.fromkeys(_FLAGS, False)}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    }
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    assert open_model(path).encoder.special_ids["eos"] == 0
    assert tokverify.verify_model(path, path, tokverify.load_cases([SEED])).ok
