import json
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from support.locations import find_model
from support.rank_maker import byte_ranks
from tokverify.errors import BrokenFileError, TokverifyError, UnsupportedError
from tokverify.references import discovery
from tokverify.references.discovery import PATIENCE, find_reference
from tokverify.references.hub import UnreachableError
from tokverify.references.reference import FoundReference
from tokverify.spec import TokenizerSpec

SPEC = TokenizerSpec(model="gpt2", pre="gpt-2", tokens=["a", "b", "ab"], merges=["a b"])


@pytest.fixture
def model(tmp_path) -> Path:
    return tmp_path / "fox.Q4_K_M.gguf"


@pytest.fixture
def words(tokenizer_json) -> str:
    return json.dumps(tokenizer_json)


@pytest.fixture
def hub(monkeypatch):
    """Repositories by hub id: a reference, or the error that opening it raises; `asked` collects the calls."""

    class Hub(dict):
        asked: list

    hub = Hub()
    hub.asked = []

    def open_repository(hub_id, *, patience, online=True):
        hub.asked.append((hub_id, patience, online))
        if isinstance(hub[hub_id], Exception):
            raise hub[hub_id]
        return hub[hub_id]

    monkeypatch.setattr(discovery.hub, "open_repository", open_repository)
    return hub


def named(**keys: str) -> TokenizerSpec:
    return replace(SPEC, general={key.replace("__", "."): value for key, value in keys.items()})


def test_files_next_to_the_model_are_tried_in_order(model, words, sentencepiece_model):
    contents = {True: sentencepiece_model, False: words.encode()}
    stem = "fox.Q4_K_M"
    names = (f"{stem}.tokenizer.json", f"{stem}.tokenizer.model", f"{stem}.json", f"{stem}.model")
    for name in reversed([*names, "tokenizer.json", "tokenizer.model"]):
        model.with_name(name).write_bytes(contents[name.endswith(".model")])
        found = find_reference(model, SPEC)
        assert found.source == str(model.with_name(name))
        assert found.reason == f"{name} is beside the model"


def test_the_shards_of_a_model_share_a_stem(tmp_path, words):
    (tmp_path / "fox.tokenizer.json").write_text(words)
    found = find_reference(tmp_path / "fox-00001-of-00002.gguf", SPEC)
    assert found.source == str(tmp_path / "fox.tokenizer.json")


@pytest.mark.parametrize("stem", ["fox-Q4_K_M", "fox.q8_0", "fox-BF16-00001-of-00002"])
def test_the_quantizations_of_a_model_share_a_tokenizer(tmp_path, words, stem):
    (tmp_path / "fox.tokenizer.json").write_text(words)
    assert find_reference(tmp_path / f"{stem}.gguf", SPEC).source == str(tmp_path / "fox.tokenizer.json")
    own = tmp_path / f"{stem.removesuffix('-00001-of-00002')}.tokenizer.json"
    own.write_text(words)
    assert find_reference(tmp_path / f"{stem}.gguf", SPEC).source == str(own)


def test_a_json_of_the_models_name_need_not_be_a_tokenizer(model, words):
    model.with_suffix(".json").write_text('{"some": "notes"}')
    model.with_name("tokenizer.json").write_text(words)
    found = find_reference(model, SPEC)
    assert found.source == str(model.with_name("tokenizer.json"))
    assert found.reason.endswith("; tried before: fox.Q4_K_M.json beside the model is not a tokenizer")


BROKEN = pytest.mark.parametrize(
    "broken",
    [
        ("tokenizer.json", b"{", "not a tokenizer.json"),
        ("tokenizer.json", b"", "the file is empty"),
        ("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        ("fox.tokenizer.json", b"[]", "it has no `model`"),
        ("tokenizer.model", b"\0", "not a sentencepiece model"),
    ],
)


@BROKEN
def test_a_broken_tokenizer_next_to_the_model_is_an_error_if_nothing_else_is_found(model, broken):
    name, content, problem = broken
    model.with_name(name).write_bytes(content)
    with pytest.raises(BrokenFileError) as caught:
        find_reference(model, SPEC)
    assert str(caught.value).startswith(f"{model.with_name(name)}: ")
    assert problem in str(caught.value)
    advice = "no other reference was found: correct or remove this file, or name one with -r"
    assert str(caught.value).endswith(f"; {advice}")


@BROKEN
@pytest.mark.parametrize("place", ["beside", "inside", "hub"])
def test_the_search_goes_on_after_a_broken_tokenizer_and_the_report_says_so(request, model, hub, place, broken):
    name, content, problem = broken
    model.with_name(name).write_bytes(content)
    spec = SPEC
    if place == "beside":
        model.with_name("spiece.model").write_bytes(request.getfixturevalue("sentencepiece_model"))
    elif place == "inside":
        spec = replace(SPEC, huggingface_json=request.getfixturevalue("words"))
    else:
        hub["org/fox"] = FoundReference(object(), "org/fox@main", "downloaded from the hub")
        spec = named(source__repo_url="https://huggingface.co/org/fox")
    reason = find_reference(model, spec).reason
    assert f"tried before: {model.with_name(name)}: " in reason
    assert problem in reason


def test_a_broken_tokenizer_in_the_repository_of_the_model_is_an_error_if_nothing_else_is_found(model, hub):
    hub["org/fox@main"] = BrokenFileError("org/fox: tokenizer.json: not a tokenizer.json")
    with pytest.raises(BrokenFileError, match=r"^org/fox: tokenizer\.json: .* no other reference was found"):
        find_reference(replace(find_model(model), repository="org/fox@main"), SPEC)


def test_a_broken_tokenizer_in_a_repository_that_the_file_only_names_is_reported(model, hub):
    hub["org/fox"] = BrokenFileError("org/fox: tokenizer.json: not a tokenizer.json")
    found = find_reference(model, named(source__huggingface__repository="org/fox"))
    assert found.source == "rebuilt"
    assert "org/fox: tokenizer.json: not a tokenizer.json" in found.reason


def test_an_unsupported_tokenizer_is_skipped_and_reported(model):
    model.with_name("tokenizer.model").write_bytes(byte_ranks())
    found = find_reference(model, SPEC)
    assert found.source == "rebuilt"
    assert "a tiktoken vocabulary" in found.reason


def test_the_tokenizer_json_inside_the_file(model, words, hub):
    found = find_reference(model, replace(SPEC, huggingface_json=words))
    assert found.tokenizer.name == "tokenizers"
    assert found.source == f"tokenizer.huggingface.json in {model}"
    assert found.reason == "the GGUF file contains its tokenizer.json; tried before: no tokenizer beside the model"


@pytest.mark.parametrize("content", ["{", "\udcff"])
def test_a_broken_tokenizer_json_inside_the_file_is_reported(model, content):
    found = find_reference(model, replace(SPEC, huggingface_json=content))
    assert found.source == "rebuilt"
    assert "tokenizer.huggingface.json" in found.reason


def test_the_repository_named_in_the_file_is_tried(model, hub):
    hub["org/fox"] = FoundReference(object(), "org/fox@main", "downloaded from the hub")
    found = find_reference(model, named(source__repo_url="https://huggingface.co/org/fox"))
    assert (found.source, found.caveat) == ("org/fox@main", "")
    assert found.reason.startswith("general.source.repo_url names it, downloaded from the hub; tried before: ")
    assert hub.asked == [("org/fox", PATIENCE, True)]


def test_repositories_are_listed_once_nearest_to_the_model_first(model, hub):
    gone = TokverifyError("no such repository")
    hub.update({"org/first": gone, "org/second": gone, "org/base": FoundReference(object(), "base", "cached")})
    spec = named(
        base_model__0__repo_url="https://huggingface.co/org/base",
        repo_url="https://huggingface.co/org/second",
        url="https://huggingface.co/org/second",
        source__url="https://example.org/org/elsewhere",
        source__huggingface__repository="org/first",
    )
    found = find_reference(model, spec)
    assert [hub_id for hub_id, _, _ in hub.asked] == ["org/first", "org/second", "org/base"]
    assert "base model" in found.caveat


def test_an_unreachable_hub_is_asked_once(model, hub):
    hub["org/fox"] = UnreachableError("org/fox: no network")
    hub["org/base"] = UnreachableError("org/base: not in the local cache")
    spec = named(source__huggingface__repository="org/fox", base_model__0__repo_url="https://huggingface.co/org/base")
    found = find_reference(model, spec)
    assert [(hub_id, online) for hub_id, _, online in hub.asked] == [("org/fox", True), ("org/base", False)]
    assert found.source == "rebuilt"
    assert "org/fox: no network; org/base: not in the local cache" in found.reason


def test_as_a_last_resort_the_reference_is_rebuilt_with_a_caveat(model):
    found = find_reference(model, SPEC)
    assert found.tokenizer.encode("ab", add_special=False, parse_special=False) == [2]
    assert found.caveat.startswith("the reference is rebuilt from the GGUF file's own data")
    assert found.reason == (
        "nothing better was found; tried before: no tokenizer beside the model; no tokenizer.json inside it; "
        "no repository named in it"
    )


def test_no_reference_found_or_rebuilt_is_an_error(model):
    with pytest.raises(UnsupportedError, match=r"fox.Q4_K_M.gguf: found no reference; name one with -r \(rebuilt:"):
        find_reference(model, replace(SPEC, merges=["a a"]))


def test_real_files_side_by_side(vocabs):
    found = find_reference(vocabs / "llama-spm.gguf", SPEC)
    assert found.source == str(vocabs / "llama-spm.tokenizer.json")
    found = find_reference(vocabs / "t5.gguf", SPEC)
    assert found.source == str(vocabs / "t5.tokenizer.model")


def test_an_unreachable_hub_does_not_stop_a_run(model, tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = find_reference(model, named(source__huggingface__repository="org/fox"))
    assert found.source == "rebuilt"
    assert "org/fox: not in the local cache, and the hub cannot be reached" in found.reason
