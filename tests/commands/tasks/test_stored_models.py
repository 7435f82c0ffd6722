"""Models of which only the metadata is here: what works as for a local file, and what says that it cannot."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from huggingface_hub import constants

import tokverify
from support.fake_hub import COMMIT, FakeHub, Server, send_file, serving, status
from support.gguf_maker import make_gguf, string, strings
from support.paths import SAMPLE
from tokverify.commands.project.configuration import ConfiguredModel
from tokverify.commands.tasks.audit import audit_model
from tokverify.commands.tasks.check import CheckRequest, check_model
from tokverify.commands.tasks.declaration import open_declaration
from tokverify.commands.tasks.diff import diff_tokenizers
from tokverify.commands.tasks.fix import fix_model
from tokverify.commands.tasks.opening import open_model, open_reference, open_tokenizer
from tokverify.compare.repair import FIX, find_remedy, new_metadata
from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.location import Typed
from tokverify.report.check import Part
from tokverify.report.diff import behaves_alike, old_side
from tokverify.report.run import run_exit_code
from tokverify.sources.stores.model_file import ModelFile

MODEL, REFERENCE = SAMPLE / "sample.gguf", SAMPLE / "sample.tokenizer.model"
NAME = "hf:org/sample:Q8_0"
LOCATION = f"hf:org/sample:sample-Q8_0.gguf@{COMMIT}"


@pytest.fixture
def sample(hub: FakeHub, tmp_path) -> FakeHub:
    """A hub with the sample as a model of 20 GB, and nothing else."""
    path = tmp_path / "sample-Q8_0.gguf"
    path.write_bytes(MODEL.read_bytes())
    os.truncate(path, 20 * 10**9)
    hub.repositories["org/sample"] = {path.name: path}
    return hub


def test_a_report_names_the_model_and_not_the_local_file(sample):
    report = tokverify.verify_model(NAME, REFERENCE, [])
    assert report.actual.source == LOCATION
    assert report.actual.name == "sample-Q8_0"
    assert report.actual.sha256 == sample.etag(sample.repositories["org/sample"]["sample-Q8_0.gguf"])


def test_a_file_on_the_hub_encodes_like_a_local_one(sample):
    text = "How many tokens is this?"
    remote, local = open_model(NAME).encoder, open_model(MODEL).encoder
    assert remote.fingerprint == local.fingerprint
    assert remote.encode(text, add_special=True, parse_special=True) == local.encode(
        text, add_special=True, parse_special=True
    )
    assert open_tokenizer(NAME).encoder.fingerprint == local.fingerprint


def test_all_parts_of_a_check_open_the_model_once(sample):
    model = ConfiguredModel(name="sample", model=Typed(NAME), reference=Typed(str(REFERENCE)))
    check = check_model(CheckRequest(model=model, parts=[Part.RUN, Part.AUDIT]))
    assert check.audit.source == check.run.actual.source == LOCATION
    assert [path for path, _ in sample.api.requests].count("/api/models/org/sample/revision/main") == 1


def test_the_rules_check_the_size_of_the_embedding(sample):
    assert audit_model(NAME).fingerprint == audit_model(MODEL).fingerprint


def test_the_reference_is_looked_for_in_the_repository_of_the_model(sample, monkeypatch, tmp_path):
    sample.repositories["org/sample"]["tokenizer.model"] = REFERENCE
    snapshot = tmp_path / "hf-cache" / "models--org--sample" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.model").write_bytes(REFERENCE.read_bytes())
    found = open_reference(open_model(NAME)).found
    assert found.source == f"org/sample@{COMMIT}/tokenizer.model"
    assert found.reason.startswith("it is in the repository of the model, from the local cache of the hub")


@pytest.fixture
def server(hub: FakeHub, tmp_path):
    """A plain server with the sample, and a place for other files of it."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "sample.gguf").write_bytes(MODEL.read_bytes())
    server = Server(lambda handler: send_file(handler, folder / Path(urlsplit(handler.path).path).name, '"one"'))
    with serving(server):
        yield server


@pytest.mark.parametrize("name", ["tokenizer.model", "sample.tokenizer.model"])
def test_the_reference_is_looked_for_next_to_an_address(server, tmp_path, monkeypatch, name):
    (tmp_path / "served" / name).write_bytes(REFERENCE.read_bytes())
    address = f"{server.address}/models/sample.gguf?secret=1"
    found = open_reference(open_model(address)).found
    assert found.source == f"{server.address}/models/{name}"
    assert found.reason.startswith(f"{name} is next to the address of the model")
    assert not any("secret" in path for path, _ in server.requests if name in path)
    requests = len(server.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert open_reference(open_model(address)).found.source == found.source
    assert len(server.requests) == requests


def test_what_is_next_to_an_address_is_downloaded_again_and_may_have_vanished(server, tmp_path):
    address, other = f"{server.address}/sample.gguf", tmp_path / "served" / "tokenizer.model"
    other.write_bytes(REFERENCE.read_bytes())
    assert open_reference(open_model(address)).found.tokenizer.name == "sentencepiece"
    other.write_bytes(b"broken")
    with pytest.raises(BrokenFileError, match="no other reference was found") as caught:
        open_reference(open_model(address))
    assert str(caught.value).startswith(f"{server.address}/tokenizer.model: not a sentencepiece model")
    other.unlink()
    found = open_reference(open_model(address)).found
    assert found.is_rebuilt
    assert "no tokenizer next to the address of the model" in found.reason


def test_a_server_that_fails_is_named_with_what_was_tried(server):
    address = f"{server.address}/sample.gguf"
    open_model(address)
    opened = open_model(address)
    server.faults.extend([status(500)] * 4)
    found = open_reference(opened).found
    assert found.is_rebuilt
    assert f"{server.address}/sample.tokenizer.json: HTTP 500 Internal Server Error; try again later" in found.reason


PAGE = b"\xef\xbb\xbf\n<!DOCTYPE html>\n<title>Not found</title>"


@pytest.mark.parametrize("missing", [status(code) for code in (400, 402, 405, 418, 451)] + [status(200, PAGE)])
def test_a_refusal_and_a_web_page_mean_that_a_file_is_not_there(server, tmp_path, missing):
    (tmp_path / "served" / "tokenizer.model").write_bytes(REFERENCE.read_bytes())
    opened = open_model(f"{server.address}/sample.gguf")
    server.faults.extend([missing] * 3)
    assert open_reference(opened).found.source == f"{server.address}/tokenizer.model"


@pytest.mark.parametrize("name", ["a%00b", "a" * 300])
def test_a_name_that_no_file_can_have_is_not_looked_for(server, tmp_path, name):
    opened = open_model(f"{server.address}/sample.gguf")
    opened.file = replace(opened.file, address=f"{server.address}/{name}.gguf")
    (tmp_path / "served" / "tokenizer.model").write_bytes(REFERENCE.read_bytes())
    assert open_reference(opened).found.source == f"{server.address}/tokenizer.model"


@pytest.mark.parametrize("code", [408, 429])
def test_a_temporary_refusal_does_not_mean_that_a_file_is_not_there(server, pauses, code):
    opened = open_model(f"{server.address}/sample.gguf")
    server.faults.extend([status(code)] * 4)
    found = open_reference(opened).found
    assert f"{server.address}/sample.tokenizer.json: HTTP {code} " in found.reason


@pytest.mark.parametrize("headers", [{}, {"Transfer_Encoding": "chunked"}], ids=["announced", "chunked"])
def test_an_empty_file_next_to_an_address_is_called_empty(server, headers):
    opened = open_model(f"{server.address}/sample.gguf")
    server.faults.append(lambda handler: send_empty(handler, headers))
    with pytest.raises(BrokenFileError, match=r"/sample\.tokenizer\.json: the file is empty"):
        open_reference(opened)


def test_the_search_goes_on_after_a_broken_file_next_to_an_address(server, tmp_path):
    (tmp_path / "served" / "sample.tokenizer.json").write_bytes(b"")
    (tmp_path / "served" / "tokenizer.json").write_bytes(b"{")
    (tmp_path / "served" / "tokenizer.model").write_bytes(REFERENCE.read_bytes())
    found = open_reference(open_model(f"{server.address}/sample.gguf")).found
    assert found.source == f"{server.address}/tokenizer.model"
    for name in ("sample.tokenizer.json: the file is empty", "tokenizer.json: not a tokenizer.json"):
        assert f"{server.address}/{name}" in found.reason


def send_empty(handler, headers) -> None:
    handler.send_response(200)
    for name, value in (headers or {"Content_Length": "0"}).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    if headers:
        handler.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def stored(hub: FakeHub, tmp_path, monkeypatch):
    """The sample in the directory of LM Studio, and a hub without repositories."""
    monkeypatch.setenv("HOME", str(tmp_path))
    model = tmp_path / ".lmstudio" / "models" / "org" / "sample" / "sample-Q8_0.gguf"
    model.parent.mkdir(parents=True)
    model.write_bytes(MODEL.read_bytes())
    return tmp_path


def test_the_reference_of_a_model_of_lm_studio_is_looked_for_on_the_hub(stored):
    snapshot = stored / "hf-cache" / "models--org--sample" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.model").write_bytes(REFERENCE.read_bytes())
    (stored / "hf-cache" / "models--org--sample" / "refs").mkdir()
    (stored / "hf-cache" / "models--org--sample" / "refs" / "main").write_text(COMMIT)
    found = open_reference(open_model("lmstudio:org/sample")).found
    assert found.source == f"org/sample@{COMMIT}/tokenizer.model"
    assert "found by the name under which the model is kept" in found.caveat


def test_the_reference_of_a_model_of_llama_cpp_has_the_same_commit(stored):
    snapshot = stored / "hf-cache" / "models--org--sample" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "sample.gguf").write_bytes(MODEL.read_bytes())
    opened = open_model("llamacpp:org/sample")
    assert opened.file.repository == f"org/sample@{COMMIT}"


@pytest.mark.parametrize("is_offline", [True, False])
def test_a_repository_that_is_not_found_is_named_in_one_line(stored, monkeypatch, is_offline):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", is_offline)
    found = open_reference(open_model("lmstudio:org/sample")).found
    assert found.is_rebuilt
    assert "org/sample: n" in found.reason
    assert "\n" not in found.reason


def test_the_reference_can_be_a_remote_model_too(sample):
    report = tokverify.verify_model(MODEL, NAME)
    assert report.expected.source == LOCATION
    assert run_exit_code(report) == 0


def test_errors_name_the_model_and_not_the_local_file(sample, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(make_gguf({"tokenizer.ggml.model": string("gpt2"), "tokenizer.ggml.tokens": strings(["a"])}))
    sample.repositories["org/broken"] = {"broken.gguf": broken}
    message = f"^hf:org/broken:broken.gguf@{COMMIT}: tokenizer.ggml.merges: missing"
    with pytest.raises(BrokenFileError, match=message):
        open_model("hf:org/broken")
    assert re.match(message, str(open_declaration("hf:org/broken").declaration.refusal))


def test_two_commits_of_a_remote_model_can_be_compared(sample):
    report = diff_tokenizers(NAME, f"hf:org/sample@{COMMIT}", [])
    assert (old_side(report).source, behaves_alike(report)) == (NAME, True)


def test_a_conversion_names_the_model_and_not_the_local_file(sample, tmp_path):
    conversion = tokverify.convert_tokenizer(NAME, tmp_path / "tokenizer.json", [], count=0)
    # The GGUF file is what limits of llama.cpp are about, so it is the actual side.
    assert conversion.source == conversion.report.actual.source == LOCATION


@pytest.mark.parametrize(
    ("location", "fixed"),
    [
        ("hf:org/fox:fox-Q4_0.gguf@0123", "fox-fox-Q4_0-fixed.gguf"),
        ("https://example.org/fox.gguf", "fox-fixed.gguf"),
        ("ollama:fox:7b", "ollama-fox-7b-fixed.gguf"),
    ],
)
def test_a_command_of_another_program_does_not_contain_the_name_of_a_model(location, fixed):
    other = find_remedy(new_metadata("--pre-tokenizer", "gpt-2"), location, None).commands[0].arguments
    assert other == ("gguf-new-metadata", "--pre-tokenizer", "gpt-2", "MODEL", fixed)
    own = find_remedy(FIX, location, "tokenizer.json").commands[0].arguments
    assert own == ("tokverify", "fix", location, "-r", "tokenizer.json", "-o", fixed)


def test_a_repair_is_planned_with_the_metadata_alone(sample):
    sample.repositories["org/sample"]["sample-Q8_0.gguf"].write_bytes((SAMPLE / "sample-broken.gguf").read_bytes())
    os.truncate(sample.repositories["org/sample"]["sample-Q8_0.gguf"], 20 * 10**9)
    plan = fix_model(NAME, None, str(REFERENCE))
    assert plan.repair
    assert plan.repair == fix_model(SAMPLE / "sample-broken.gguf", None, str(REFERENCE)).repair


def test_a_repair_needs_the_complete_file_and_says_how_to_download_it(sample, tmp_path):
    command = f"hf download org/sample sample-Q8_0.gguf --revision {COMMIT}"
    with pytest.raises(UnsupportedError, match=f"only its metadata was downloaded; run `{command}`, and repeat the"):
        fix_model(NAME, tmp_path / "fixed.gguf", str(REFERENCE))


def test_a_downloaded_model_is_repaired_by_its_name(sample, tmp_path):
    snapshot = tmp_path / "hf-cache" / "models--org--sample" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "sample-Q8_0.gguf").write_bytes((SAMPLE / "sample-broken.gguf").read_bytes())
    fix_model(NAME, tmp_path / "fixed.gguf", str(REFERENCE))
    assert (tmp_path / "fixed.gguf").exists()


def test_a_repair_of_a_model_behind_an_address_says_how_to_download_it(sample, tmp_path):
    file = ModelFile(path=tmp_path / "x", name="x", location="https://example.com/a b.gguf", is_partial=True)
    with pytest.raises(UnsupportedError, match=r"; download it \(curl -fLO 'https://example.com/a b.gguf'\), and name"):
        file.require_complete()


def test_a_model_of_ollama_is_repaired_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "store"))
    digest = "ab" * 32
    manifest = tmp_path / "store" / "manifests" / "registry.ollama.ai" / "library" / "fox" / "latest"
    blob = tmp_path / "store" / "blobs" / f"sha256-{digest}"
    for path in (manifest, blob):
        path.parent.mkdir(parents=True)
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": 4}
    manifest.write_text(json.dumps({"layers": [layer]}))
    blob.write_bytes((SAMPLE / "sample-broken.gguf").read_bytes())
    fix_model("ollama:fox", tmp_path / "fixed.gguf", str(REFERENCE))
    assert run_exit_code(tokverify.verify_model(tmp_path / "fixed.gguf", str(REFERENCE))) == 0


@pytest.mark.process
def test_llama_cpp_loads_the_metadata_alone(sample, llama_cpp):
    opened = open_model(NAME)
    real = open_reference(opened, "llama.cpp").tokenizer
    text = "How many tokens is this?"
    assert real.encode(text, add_special=True, parse_special=True) == opened.encoder.encode(
        text, add_special=True, parse_special=True
    )


@pytest.mark.process
def test_a_command_takes_the_name_of_a_model(sample, tmp_path):
    settings = {"HF_ENDPOINT": sample.endpoint, "HF_HOME": str(tmp_path / "hf"), "TOKVERIFY_CACHE": str(tmp_path / "c")}
    command = [sys.executable, "-m", "tokverify", "inspect", NAME, "--json"]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["source"] == LOCATION
