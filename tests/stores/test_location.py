"""Several models by one name."""

from pathlib import Path

import pytest

from tokverify.errors import TokverifyError
from tokverify.stores import location
from tokverify.stores.location import find_models, is_remote, to_location


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch) -> None:
    """A directory with models, one of which is split."""
    monkeypatch.chdir(tmp_path)
    names = [
        "a/x-Q4_0.gguf",
        "a/big-00001-of-00002.gguf",
        "a/big-00002-of-00002.gguf",
        "a/mmproj-x.gguf",
        "b/x-Q4_0.gguf",
    ]
    for name in [*names, "a/tokenizer.json", "ranks.tiktoken"]:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()


def test_a_directory_stands_for_the_models_in_it():
    assert find_models(["a"]) == {
        "big-00001-of-00002": "a/big-00001-of-00002.gguf",
        "x-Q4_0": "a/x-Q4_0.gguf",
    }


def test_models_of_the_same_name_are_named_by_their_paths():
    assert list(find_models(["a", Path("b")])) == ["big-00001-of-00002", "a/x-Q4_0.gguf", "b/x-Q4_0.gguf"]


def test_a_pattern_stands_for_files(tmp_path):
    assert list(find_models(["*/x-*.gguf"]).values()) == ["a/x-Q4_0.gguf", "b/x-Q4_0.gguf"]
    assert list(find_models([str(tmp_path / "b" / "*")]).values()) == [str(tmp_path / "b/x-Q4_0.gguf")]
    assert len(find_models(["**/*.gguf"])) == 3


def test_a_file_named_twice_is_one_model():
    assert find_models(["a/x-Q4_0.gguf", "a/x-*.gguf"]) == {"x-Q4_0": "a/x-Q4_0.gguf"}


def test_other_names_stand_for_themselves():
    names = ["configured", "ranks.tiktoken:[a-z]+", "hf:org/name", "missing.gguf"]
    assert list(find_models(names).values()) == names
    assert find_models([Path("https://example.org/x.gguf")]) == {
        "https://example.org/x.gguf": "https://example.org/x.gguf"
    }


@pytest.mark.parametrize(
    ("name", "message"), [("z*.gguf", "no GGUF file matches"), (".", "limit"), ("c", "contains no")]
)
def test_no_models_or_too_many_are_an_error(name, message, monkeypatch):
    monkeypatch.setattr(location, "MAX_MODELS", 3)
    Path("c").mkdir()
    with pytest.raises(TokverifyError, match=message):
        find_models([name])


def test_a_location_is_shown_as_it_was_written():
    assert to_location(Path("HTTPS://example.org/a//b.gguf?x")) == "https://example.org/a/b.gguf?x"
    assert to_location(Path("a/x-Q4_0.gguf")) == "a/x-Q4_0.gguf"
    assert is_remote("hf:org/name")
    assert not is_remote("ollama:name")
