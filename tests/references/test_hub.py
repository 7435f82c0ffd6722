import json
from contextlib import ExitStack
from functools import partial
from inspect import signature
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants, errors

from support.hub_fixtures import run_hub
from support.locations import request
from support.paths import SAMPLE
from support.rank_maker import byte_ranks
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.references import hub as hub_module
from tokverify.references.hub import UnreachableError, load, open_repository
from tokverify.sources.config import chat_templates

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RESPONSE = SimpleNamespace(headers={}, request=None, status_code=404)

NotFoundError = getattr(errors, "RemoteEntryNotFoundError", errors.EntryNotFoundError)
"""The error for a file that the hub does not have; the more specific class is new in huggingface_hub 1.0."""


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The hub's local cache, empty, and no hub behind it."""

    def unreachable(*args, **options):
        raise errors.OfflineModeIsEnabled("offline mode is enabled")

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", unreachable)
    return tmp_path


def put(cache: Path, repo: str, files: dict[str, bytes], *, ref: str = "main") -> Path:
    """Lay out a repository as `hf_hub_download` leaves it."""
    folder = cache / f"models--{repo.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / ref).write_text(COMMIT)
    for name, content in files.items():
        (snapshot / name).write_bytes(content)
    return snapshot


@pytest.fixture
def hub(cache, monkeypatch):
    """A hub with one repository, `org/fox`; `hub.files` are in it, `hub.asked` is what was looked for."""
    state = SimpleNamespace(files={}, asked=[], patience=None)

    def metadata(url, *, timeout):
        state.patience = timeout
        name = url.rpartition("/")[2]
        state.asked.append(name)
        if name not in state.files:
            raise NotFoundError("404", response=RESPONSE)

    def download(repo, name, *, revision=None, local_files_only=False):
        if local_files_only:
            raise errors.LocalEntryNotFoundError("not in the cache")
        if name not in state.files:
            raise NotFoundError("404", response=RESPONSE)
        path = cache / "models--org--fox" / "snapshots" / COMMIT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(state.files[name])
        return str(path)

    def list_tree(repo, folder, *, revision=None):
        names = [name for name in state.files if name.startswith(f"{folder}/")]
        if not names:
            raise NotFoundError("404", response=RESPONSE)
        yield from (SimpleNamespace(path=name) for name in names)

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", metadata)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "list_repo_tree", list_tree)
    return state


@pytest.fixture
def words(tokenizer_json) -> bytes:
    return json.dumps(tokenizer_json).encode()


def test_a_cached_repository_needs_no_hub(cache, words):
    put(cache, "org/fox", {"tokenizer.json": words, "tokenizer_config.json": b'{"unk_token": "[UNK]"}'})
    found = load(request("org/fox"))
    assert found.tokenizer.encode("red fox", add_special=False, parse_special=False) == [3, 4]
    assert found.tokenizer.special_ids == {"unk": 0}
    assert found.source == f"org/fox@{COMMIT}/tokenizer.json"
    assert found.reason == "as requested, from the local cache of the hub"
    assert set(found.versions) == {"tokenizers", "huggingface_hub"}


def test_a_cached_revision(cache, words):
    put(cache, "org/fox", {"tokenizer.json": words}, ref="v2")
    assert open_repository("org/fox@v2").source == f"org/fox@{COMMIT}/tokenizer.json"
    assert open_repository(f"org/fox@{COMMIT}").source == f"org/fox@{COMMIT}/tokenizer.json"
    with pytest.raises(UnreachableError):
        open_repository("org/fox")


def test_a_cached_sentencepiece_model(cache, sentencepiece_model):
    put(cache, "org/fox", {"tokenizer.model": sentencepiece_model})
    assert open_repository("org/fox").tokenizer.name == "sentencepiece"


def test_a_broken_file_in_the_cache_is_named(cache):
    snapshot = put(cache, "org/fox", {"tokenizer.json": b"{"})
    with pytest.raises(BrokenFileError, match=str(snapshot)):
        open_repository("org/fox")


def test_an_error_for_a_model_neither_cached_nor_reachable_says_what_to_do(cache):
    with pytest.raises(UnreachableError, match=r"not in the local cache.*\(offline mode is enabled\).*hf download"):
        open_repository("org/fox")
    with pytest.raises(UnreachableError, match=r"org/fox: not in the local cache$"):
        open_repository("org/fox", online=False)


def test_invalid_hub_ids_are_rejected(cache):
    with pytest.raises(TokverifyError, match="not a hub id"):
        open_repository("org/fox/den")


def test_a_repository_is_downloaded_with_its_config(hub, words):
    hub.files = {"tokenizer.json": words, "tokenizer_config.json": b'{"pad_token": "[UNK]"}'}
    found = open_repository("org/fox", patience=1.5)
    assert found.reason == "downloaded from the hub"
    assert found.source == f"org/fox@{COMMIT}/tokenizer.json"
    assert found.tokenizer.special_ids == {"pad": 0}
    assert (hub.asked, hub.patience) == (["tokenizer.json"], 1.5)


def test_a_repository_is_downloaded_with_its_chat_template(hub, words):
    hub.files = {"tokenizer.json": words, "chat_template.jinja": b"{{ messages }}"}
    assert chat_templates(open_repository("org/fox").path) == {"default": "{{ messages }}"}


def test_a_repository_is_downloaded_with_its_additional_chat_templates(hub, words):
    templates = {"chat_template.jinja": b"one", "additional_chat_templates/tool_use.jinja": b"two"}
    hub.files = {"tokenizer.json": words, "additional_chat_templates/README.md": b"none", **templates}
    assert chat_templates(open_repository("org/fox").path) == {"default": "one", "tool_use": "two"}


def test_a_hub_that_cannot_list_templates_is_named(hub, words, monkeypatch):
    def refuse(*args, **options):
        raise ConnectionError("reset by peer")

    hub.files = {"tokenizer.json": words}
    monkeypatch.setattr(huggingface_hub, "list_repo_tree", refuse)
    with pytest.raises(UnreachableError, match="reset by peer"):
        open_repository("org/fox")


def test_a_repository_with_only_a_sentencepiece_model_is_opened(hub, sentencepiece_model):
    hub.files = {"tokenizer.model": sentencepiece_model, "tokenizer_config.json": b'{"add_bos_token": true}'}
    found = open_repository("org/fox")
    assert hub.asked == ["tokenizer.json", "tokenizer.model"]
    assert (found.tokenizer.name, found.tokenizer.adds_special) == ("sentencepiece", True)


def test_a_repository_without_a_tokenizer_is_an_error(hub):
    with pytest.raises(TokverifyError, match=r"contains none of tokenizer\.json, tokenizer\.model, .*, tekken\.json"):
        open_repository("org/fox")


def test_an_interrupted_download_is_an_error(hub, words, monkeypatch):
    hub.files = {"tokenizer.json": words}

    def download(*args, local_files_only=False, **options):
        raise errors.LocalEntryNotFoundError("gone") if local_files_only else ConnectionError("reset by peer")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(UnreachableError, match=r"tokenizer\.json cannot be downloaded \(reset by peer\)"):
        open_repository("org/fox")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.RepositoryNotFoundError("401", response=RESPONSE), "no such repository on the hub, or a private one"),
        (errors.GatedRepoError("403", response=RESPONSE), "the repository is gated"),
        (errors.RevisionNotFoundError("404", response=RESPONSE), "has no revision v9"),
    ],
)
def test_a_refusal_of_the_hub_is_explained(hub, monkeypatch, error, message):
    def refuse(*args, **options):
        raise error

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", refuse)
    with pytest.raises(TokverifyError, match=message) as caught:
        open_repository("org/fox@v9")
    assert not isinstance(caught.value, UnreachableError)


def test_a_repository_with_a_rank_file_alone_says_how_to_name_its_pattern(hub):
    hub.files["tiktoken.model"] = byte_ranks()
    with pytest.raises(UnsupportedError, match=r"add its name, as in .*[/\\]tiktoken\.model:cl100k_base"):
        open_repository("org/fox")
    assert hub.asked[-1] == "tiktoken.model"


def test_a_repository_with_only_a_tekken_file_is_opened(hub):
    hub.files["tekken.json"] = b'{"config": {"pattern": "x"}}'
    with pytest.raises(TokverifyError, match=r"tekken\.json|mistral-common"):
        open_repository("org/fox")


@pytest.fixture
def endless_hub(tmp_path, monkeypatch):
    """A hub whose files have the given beginning, and no end."""
    with ExitStack() as stack:
        served = run_hub(stack, monkeypatch, tmp_path / "cache")
        served.repositories["org/fox"] = {"tokenizer.json": SAMPLE / "sample.tokenizer.json"}
        stack.callback(is_over.set)
        is_over.clear()
        yield served


is_over = Event()


def send_without_end(handler, *, part: bytes, pause: float) -> None:
    if handler.command == "HEAD":
        handler.send(200, ETag='"one"', Content_Length="1000")
        return
    handler.send(200, ETag='"one"', Content_Length=str(1 << 40))
    while not is_over.wait(pause):
        handler.wfile.write(part)
        handler.wfile.flush()


@pytest.mark.parametrize(
    ("part", "pause", "reason"),
    [(b" " * (1 << 20), 0.0, "larger than 1 MiB, the limit"), (b" ", 0.05, "the limit for all files is 2 s")],
)
def test_a_file_without_an_end_is_given_up(endless_hub, monkeypatch, part, pause, reason):
    if "tqdm_class" not in signature(huggingface_hub.hf_hub_download).parameters and not pause:
        pytest.skip("this version of huggingface_hub has no limit")
    monkeypatch.setattr(hub_module, "MAX_SECONDS", 2.0)
    monkeypatch.setattr(hub_module, "MAX_BYTES", 1 << 20)
    endless_hub.cdn.answer = partial(send_without_end, part=part, pause=pause)
    with pytest.raises(UnreachableError, match=rf"org/fox: tokenizer\.json cannot be downloaded \({reason}\)"):
        open_repository("org/fox")
