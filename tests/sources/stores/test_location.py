"""Several models by one name."""

from pathlib import Path

import pytest

from support.locations import find_models
from tokverify.errors import TokverifyError
from tokverify.sources.stores import location
from tokverify.sources.stores.location import find_model, is_remote, to_location

GOOD, OTHER, BIG = Path("a/x-Q4_0.gguf"), Path("b/x-Q4_0.gguf"), Path("a/big-00001-of-00002.gguf")


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch) -> None:
    """Two directories with models, one of which is split."""
    monkeypatch.chdir(tmp_path)
    for path in (
        GOOD,
        OTHER,
        BIG,
        Path("a/big-00002-of-00002.gguf"),
        Path("a/mmproj-x.gguf"),
        Path("a/tokenizer.json"),
    ):
        path.parent.mkdir(exist_ok=True)
        path.touch()


def test_a_directory_stands_for_the_models_in_it():
    assert find_models([Path("a")]) == {"big-00001-of-00002": BIG, "x-Q4_0": GOOD}


def test_models_of_the_same_name_are_named_by_their_paths():
    assert list(find_models(["a", Path("b")])) == ["big-00001-of-00002", str(GOOD), str(OTHER)]


def test_a_pattern_stands_for_files(tmp_path):
    assert list(find_models([Path("*/x-*.gguf")]).values()) == [GOOD, OTHER]
    assert list(find_models([str(tmp_path / "b" / "*")]).values()) == [tmp_path / OTHER]
    assert len(find_models(["**/*.gguf"])) == 3


def test_a_file_named_twice_is_one_model():
    assert find_models([GOOD, "a/x-*.gguf"]) == {"x-Q4_0": GOOD}


def test_other_locations_stand_for_themselves():
    locations = [Path("ranks.tiktoken:[a-z]+"), "hf:org/name", Path("missing.gguf"), "http://[::1]:8080", "command:a *"]
    assert list(find_models(locations).values()) == [Path(location) for location in locations]
    assert find_models([Path("https://example.org/x.gguf")]) == {
        "https://example.org/x.gguf": Path("https://example.org/x.gguf")
    }


@pytest.mark.parametrize(("name", "message"), [("z*.gguf", "no GGUF file"), (".", "the limit"), ("c", "contains no")])
def test_no_models_or_too_many_are_an_error(name, message, monkeypatch):
    monkeypatch.setattr(location, "MAX_MODELS", 3)
    Path("c").mkdir()
    with pytest.raises(TokverifyError, match=message):
        find_models([name])


def test_a_location_is_shown_as_it_was_written():
    assert to_location(Path("HTTPS://example.org/a//b.gguf?x")) == "https://example.org/a/b.gguf?x"
    assert to_location(GOOD) == str(GOOD)
    assert is_remote("hf:org/name")
    assert not is_remote("ollama:name")


def test_a_directory_without_gguf_files_stands_for_the_tokenizer_in_it():
    tokenizer = Path("c/tokenizer.json")
    tokenizer.parent.mkdir()
    tokenizer.touch()
    assert find_models(["c"]) == {"tokenizer": tokenizer}
    assert find_model(Path("c")).path == tokenizer


def test_one_model_is_found_in_a_directory():
    assert find_model(Path("b")).path == OTHER
    BIG.unlink()
    assert find_model(Path("a")).path == GOOD


def test_a_command_for_one_model_does_not_choose_between_two():
    with pytest.raises(TokverifyError, match=r"a: contains 2 GGUF files; name one of big-00001-of-00002.gguf, x-Q4_0"):
        find_model(Path("a"))
