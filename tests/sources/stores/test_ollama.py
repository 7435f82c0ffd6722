"""`ollama:name`: the layouts of the store, and what can be wrong in it."""

import json
from pathlib import Path

import pytest

from support.locations import find_model
from tokverify.errors import BrokenFileError, TokverifyError
from tokverify.sources.stores.ollama import VARIABLE, expand

DIGEST = "ab" * 32
MODEL = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{DIGEST}", "size": 4}
TEMPLATE = {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{'0' * 64}", "size": 4}


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A store without models."""
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def put(root: Path, place: str, content: object = None) -> Path:
    """Write a manifest and the blob that it names, and return the blob."""
    manifest = root / place
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"layers": [TEMPLATE, MODEL]} if content is None else content))
    blob = root / "blobs" / f"sha256-{DIGEST}"
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(b"GGUF")
    return blob


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("llama3.2", "manifests/registry.ollama.ai/library/llama3.2/latest"),
        ("llama3.2:1b", "manifests/registry.ollama.ai/library/llama3.2/1b"),
        ("me/fox", "manifests/registry.ollama.ai/me/fox/latest"),
        ("hf.co/org/fox-GGUF:Q4_0", "manifests/hf.co/org/fox-GGUF/Q4_0"),
        ("llama3.2", "manifests-v2/ollama.com/library/llama3.2/latest"),
        ("me/fox:7b", "manifest-v2/ollama.com/me/fox/7b"),
    ],
)
def test_a_model_is_found_in_each_layout(root, name, place):
    blob = put(root, place)
    found = find_model(f"ollama:{name}")
    assert (found.path, found.location, found.sha256) == (blob, f"ollama:{name}", DIGEST)
    assert found.name == name.rpartition("/")[2].replace(":", "-")
    assert not found.is_partial


def test_a_tag_may_be_a_link_to_a_manifest_among_the_blobs(root):
    put(root, "blobs/sha256-manifest")
    tag = root / "manifests-v2/ollama.com/library/fox/latest"
    tag.parent.mkdir(parents=True)
    tag.symlink_to(root / "blobs/sha256-manifest")
    assert find_model("ollama:fox").sha256 == DIGEST


def test_the_default_place_is_below_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    blob = put(tmp_path / ".ollama/models", "manifests/registry.ollama.ai/library/fox/latest")
    assert find_model("ollama:fox").path == blob


@pytest.mark.parametrize("name", ["", "../fox", "a/b/c/d", "fox:", "fox:..", "fox/../../etc/passwd", "fox:a/b"])
def test_a_name_cannot_lead_out_of_the_store(root, name):
    with pytest.raises(TokverifyError, match="not the name of a model"):
        find_model(f"ollama:{name}")


def test_an_unknown_model_is_an_error_that_says_where_it_was_looked_for(root):
    with pytest.raises(TokverifyError, match=rf"not found \({root}\); `ollama pull fox`, or set {VARIABLE}"):
        find_model("ollama:fox")


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"layers": [TEMPLATE]},
        {"layers": [MODEL | {"digest": "sha256:../x"}]},
        {"layers": [None]},
    ],
)
def test_a_manifest_without_a_gguf_file_is_an_error(root, content):
    put(root, "manifests/registry.ollama.ai/library/fox/latest", content)
    with pytest.raises(BrokenFileError, match="names no GGUF file"):
        find_model("ollama:fox")


def test_a_missing_blob_is_an_error(root):
    put(root, "manifests/registry.ollama.ai/library/fox/latest").unlink()
    with pytest.raises(BrokenFileError, match=r"is missing from .*blobs; `ollama pull fox`"):
        find_model("ollama:fox")


def test_a_manifest_that_is_not_json_is_an_error(root):
    put(root, "manifests/registry.ollama.ai/library/fox/latest")
    (root / "manifests/registry.ollama.ai/library/fox/latest").write_text("{")
    with pytest.raises(BrokenFileError, match="latest: not JSON"):
        find_model("ollama:fox")


def test_a_pattern_matches_names_with_tags(root):
    for name in ("library/llama3/8b", "library/llama3/latest", "library/gemma/2b", "me/llama/x"):
        put(root, f"manifests/registry.ollama.ai/{name}")
    assert expand("llama*") == ["ollama:llama3:8b", "ollama:llama3:latest"]
    assert expand("*:2b") == ["ollama:gemma:2b"]
    assert expand("me/*") == ["ollama:me/llama:x"]
    with pytest.raises(TokverifyError, match="no model matches"):
        expand("qwen*")


def test_a_directory_that_this_user_must_not_read(root, monkeypatch):
    put(root, "manifests/registry.ollama.ai/library/fox/latest")

    def is_file(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", is_file)
    with pytest.raises(TokverifyError, match=f"^ollama:fox: not found; this user may not read {root}$"):
        find_model("ollama:fox")
