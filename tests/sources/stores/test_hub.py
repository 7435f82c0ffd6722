"""`hf:org/name`: what is requested, what is transferred, and what goes wrong."""

import os
import shutil
from dataclasses import replace

import pytest
from huggingface_hub import constants

from support.fake_hub import COMMIT, TOKEN, drop, drop_midway, status
from support.huge_model import HUGE, write_huge
from support.locations import find_model
from tokverify.errors import TokverifyError
from tokverify.sources.gguf.declaration import read_declaration
from tokverify.sources.gguf.metadata import find_metadata_end
from tokverify.sources.gguf.window import open_gguf
from tokverify.sources.stores.hub import expand
from tokverify.sources.stores.remote_file import LEAST_BYTES
from tokverify.system.http_client import ATTEMPTS

TOKENS = 40_000


@pytest.fixture
def huge(hub, files):
    """A repository with one file of 20 GB; the size of its metadata."""
    path = files / "big-Q4_K_M.gguf"
    size = write_huge(path, TOKENS)
    hub.repositories["org/big"] = {"README.md": files / "none", "big-Q4_K_M.gguf": path}
    return size


@pytest.fixture
def small(hub, files):
    """A repository with a file whose metadata fits into one request."""
    path = files / "small.gguf"
    write_huge(path, 100, size=200_000)
    hub.repositories["org/small"] = {"small.gguf": path}
    return path


def test_of_20_gb_little_more_than_the_metadata_is_transferred(hub, huge):
    found = find_model("hf:org/big")
    declaration = read_declaration(found.path)
    assert len(declaration.spec.tokens) == declaration.spec.embedding_rows == TOKENS
    assert huge > 800_000
    assert hub.cdn.sent <= 1.2 * huge
    assert len(hub.cdn.requests) <= 8
    assert [path for path, _ in hub.api.requests] == [
        "/api/models/org/big/revision/main",
        f"/org/big/resolve/{COMMIT}/big-Q4_K_M.gguf",
    ]


@pytest.mark.parametrize("name", ["t5", "gpt-2", "qwen2"])
def test_of_a_real_model_little_more_than_the_metadata_is_transferred(hub, files, vocabs, name):
    path = files / "model.gguf"
    shutil.copy(vocabs / f"{name}.gguf", path)
    with open_gguf(path) as data:
        size = find_metadata_end(path, data)
    os.truncate(path, HUGE)
    hub.repositories["org/model"] = {"model.gguf": path}
    find_model("hf:org/model")
    assert hub.cdn.sent <= 1.2 * size
    assert len(hub.cdn.requests) <= 12


def test_the_local_file_is_as_large_as_the_remote_one_but_takes_little_space(hub, huge):
    status = find_model("hf:org/big").path.stat()
    assert status.st_size == HUGE
    assert status.st_blocks * 512 < 2 * huge


def test_the_result_says_where_it_came_from(hub, huge, files):
    found = find_model("hf:org/big")
    assert found.location == f"hf:org/big:big-Q4_K_M.gguf@{COMMIT}"
    assert (found.name, found.is_partial) == ("big-Q4_K_M", True)
    assert found.sha256 == hub.etag(files / "big-Q4_K_M.gguf")
    assert find_model(found.location) == found


def test_a_second_run_asks_only_which_commit_is_current(hub, huge):
    first = find_model("hf:org/big")
    requests, sent = len(hub.cdn.requests), hub.cdn.sent
    assert find_model("hf:org/big") == first
    assert (len(hub.cdn.requests), hub.cdn.sent) == (requests, sent)
    assert len(hub.api.requests) == 3


def test_offline_nothing_is_requested(hub, huge, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(TokverifyError, match="hf:org/big: not known locally, and HF_HUB_OFFLINE is set"):
        find_model("hf:org/big")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    found = find_model("hf:org/big")
    requests = len(hub.api.requests), len(hub.cdn.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert find_model("hf:org/big") == find_model(found.location) == found
    assert (len(hub.api.requests), len(hub.cdn.requests)) == requests


def test_a_file_in_the_cache_of_the_hub_is_used_as_it_is(hub, small, tmp_path):
    snapshot = tmp_path / "hf-cache" / "models--org--small" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    shutil.copy(small, snapshot)
    found = find_model("hf:org/small")
    assert (found.path, found.is_partial) == (snapshot / "small.gguf", False)
    assert not hub.cdn.requests


def test_offline_the_cache_of_the_hub_says_which_files_there_are(hub, small, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    folder = tmp_path / "hf-cache" / "models--org--small"
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    with pytest.raises(TokverifyError, match="hf:org/small: not known locally"):
        find_model("hf:org/small")
    shutil.copy(small, folder / "snapshots" / COMMIT)
    assert find_model("hf:org/small").path == folder / "snapshots" / COMMIT / "small.gguf"
    assert find_model(f"hf:org/small@{COMMIT}").location == f"hf:org/small:small.gguf@{COMMIT}"
    assert not hub.api.requests


def test_a_private_repository_needs_the_token_which_only_the_hub_receives(hub, small, monkeypatch):
    hub.private.add("org/small")
    with pytest.raises(TokverifyError, match=r"hf:org/small: HTTP 401 Unauthorized: no such repository, or a private"):
        find_model("hf:org/small")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert find_model("hf:org/small").is_partial
    assert hub.api.requests[-1][1]["Authorization"] == f"Bearer {TOKEN}"
    assert all("Authorization" not in headers for _, headers in hub.cdn.requests)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            status(403, X_Error_Code="GatedRepo"),
            "HTTP 403 Forbidden: access denied; if the repository is gated, accept",
        ),
        (status(404, X_Error_Code="RevisionNotFound"), "HTTP 404 Not Found: the repository has no such revision"),
        (status(404, X_Error_Code="RepoNotFound"), "HTTP 404 Not Found: no such repository"),
        (status(418, X_Error_Message="I\x1b[31m am a teapot"), r"HTTP 418 .*unexpected response \(I\\x1b"),
        (status(200, b"<html>"), "the response is not JSON"),
        (status(200, b"[]"), "not the description of a repository"),
        (status(429, Retry_After="9" * 5000), "asks for a pause of 999999999 s"),
        (status(302, Location="http://["), "redirected to something that is not an address"),
        (status(429, Retry_After="3600"), "HTTP 429 Too Many Requests: asks for a pause of 3600 s; try again later"),
    ],
)
def test_an_error_of_the_hub_says_what_to_do(hub, small, fault, message):
    hub.api.faults.append(fault)
    with pytest.raises(TokverifyError, match=message):
        find_model("hf:org/small")


@pytest.mark.parametrize("fault", [drop, status(429, Retry_After="2"), status(503), status(500)])
def test_a_failure_that_passes_is_tried_again(hub, small, fault, pauses):
    hub.api.faults.extend([fault, fault])
    assert find_model("hf:org/small").is_partial
    assert len(hub.api.requests) == 4
    assert len(pauses) == 2


def test_the_pause_that_a_server_asks_for_is_kept(hub, small, pauses):
    hub.api.faults.append(status(429, Retry_After="7"))
    find_model("hf:org/small")
    assert pauses == [7.0]


def test_a_failure_that_stays_is_an_error(hub, small):
    hub.api.faults.extend([status(503)] * ATTEMPTS)
    with pytest.raises(TokverifyError, match="hf:org/small: HTTP 503 Service Unavailable: unexpected response"):
        find_model("hf:org/small")
    hub.api.faults.extend([drop] * ATTEMPTS)
    with pytest.raises(TokverifyError, match=r"the hub cannot be reached .*HF_HUB_OFFLINE=1"):
        find_model("hf:org/small")


def test_a_connection_dropped_midway_costs_one_request(hub, small):
    hub.cdn.faults.append(drop_midway)
    read_declaration(find_model("hf:org/small").path)
    assert len(hub.cdn.requests) == 2


def test_an_interrupted_download_continues(hub, huge):
    # The connection that was open says nothing, so that it does not count.
    hub.cdn.faults.extend([None, None, *[drop] * (1 + ATTEMPTS)])
    with pytest.raises(TokverifyError, match="no complete response"):
        find_model("hf:org/big")
    sent = hub.cdn.sent
    assert sent >= 2 * LEAST_BYTES
    read_declaration(find_model("hf:org/big").path)
    assert hub.cdn.sent <= 1.2 * huge
    assert f"bytes={sent}-" in hub.cdn.requests[3 + ATTEMPTS][1]["Range"]


def test_an_expired_address_is_asked_for_again(hub, huge):
    hub.cdn.faults.extend([None, status(403)])
    assert len(read_declaration(find_model("hf:org/big").path).spec.tokens) == TOKENS
    assert len(hub.api.requests) == 3


def test_a_file_that_changes_while_it_is_read_is_an_error(hub, huge):
    def change(handler):
        hub.etag_version = 2
        return True

    hub.cdn.faults.extend([None, change])
    with pytest.raises(TokverifyError, match=r"big-Q4_K_M\.gguf@.*: changed while it was read; try again"):
        find_model("hf:org/big")


@pytest.mark.parametrize(
    ("wanted", "file"),
    [
        ("", "a-Q4_K_M.gguf"),
        (":q8_0", "a.Q8_0.gguf"),
        (":bf16", "BF16/a-BF16-00001-of-00002.gguf"),
        (":x.GGUF", "x.GGUF"),
    ],
)
def test_a_file_is_chosen_by_quantization_or_by_name(hub, small, wanted, file):
    names = ["a-Q2_K.gguf", "a-Q4_K_M.gguf", "a.Q8_0.gguf", "mmproj-a-BF16.gguf", "x.GGUF"]
    parts = [f"BF16/a-BF16-0000{part}-of-00002.gguf" for part in (1, 2)]
    hub.repositories["org/a"] = dict.fromkeys([*names, *parts], small)
    assert find_model(f"hf:org/a{wanted}").location == f"hf:org/a:{file}@{COMMIT}"


def test_a_file_that_is_missing_or_ambiguous_is_an_error_that_names_the_files(hub, small):
    hub.repositories["org/a"] = dict.fromkeys(["a-Q4_0.gguf", "b-Q4_0.gguf"], small)
    with pytest.raises(TokverifyError, match=r"several files match Q4_0; name one of a-Q4_0.gguf, b-Q4_0.gguf"):
        find_model("hf:org/a:Q4_0")
    with pytest.raises(TokverifyError, match=r"no file matches Q5_0; name one of a-Q4_0.gguf, b-Q4_0.gguf"):
        find_model("hf:org/a:Q5_0")
    hub.repositories["org/b"] = {"README.md": small}
    with pytest.raises(TokverifyError, match="contains no GGUF file with a tokenizer"):
        find_model("hf:org/b")
    with pytest.raises(TokverifyError, match="not the name of a model"):
        find_model("hf:org")


def test_a_name_cannot_lead_out_of_the_repository(hub, small, tmp_path):
    hub.repositories["org/a"] = {"../../../x.gguf": small, "/etc/x.gguf": small, "a/..gguf": small}
    assert find_model("hf:org/a").location == f"hf:org/a:a/..gguf@{COMMIT}"
    with pytest.raises(TokverifyError, match="no file matches"):
        find_model("hf:org/a:../../../x.gguf")
    with pytest.raises(TokverifyError, match="not the name of a model"):
        find_model("hf:../..")


def test_a_pattern_lists_repositories_and_files(hub, small):
    for name in ("org/c", "org/a-GGUF", "org/b-GGUF", "other/d-GGUF"):
        hub.repositories[name] = {"x-Q4_0.gguf": small, "x-Q8_0.gguf": small}
    assert expand("org/*-GGUF") == ["hf:org/a-GGUF", "hf:org/b-GGUF"]
    assert expand("org/*") == ["hf:org/a-GGUF", "hf:org/b-GGUF", "hf:org/c", "hf:org/small"]
    assert expand("org/c:*") == ["hf:org/c:x-Q4_0.gguf", "hf:org/c:x-Q8_0.gguf"]
    assert expand("org/*-GGUF:Q4_0") == ["hf:org/a-GGUF:Q4_0", "hf:org/b-GGUF:Q4_0"]
    with pytest.raises(TokverifyError, match="no repository with a GGUF file matches"):
        expand("org/z*")


def test_the_repository_is_where_a_reference_is_looked_for(hub, small):
    assert find_model("hf:org/small").repository is None
    hub.repositories["org/small"]["tokenizer.json"] = small
    found = find_model("hf:org/small")
    assert found.repository == f"org/small@{COMMIT}"
    assert found == replace(found, repository=found.repository)


def test_a_listing_that_cannot_be_kept(hub, small, tmp_path, monkeypatch):
    occupied = tmp_path / "occupied"
    occupied.write_text("a file")
    monkeypatch.setenv("TOKVERIFY_CACHE", str(occupied))
    message = "occupied.*: cannot be written .*; name another directory in TOKVERIFY_CACHE$"
    with pytest.raises(TokverifyError, match=message):
        find_model("hf:org/small")
