"""What is suggested for a location that is neither a file nor a name in a store."""

import pytest

from support.locations import find_model
from tokverify.commands.tasks.opening import open_model, open_subject
from tokverify.errors import TokverifyError
from tokverify.sources.stores.location import suggest_model


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("https://huggingface.co/org/fox-GGUF", "hf:org/fox-GGUF"),
        ("https://www.huggingface.co/org/fox-GGUF/", "hf:org/fox-GGUF"),
        ("https://huggingface.co/org/fox-GGUF/tree/main", "hf:org/fox-GGUF@main"),
        ("hf.co/org/fox-GGUF:Q8_0", "hf:org/fox-GGUF:Q8_0"),
        ("org/fox-GGUF", "hf:org/fox-GGUF"),
        ("org/fox-GGUF:Q4_K_M@v1.0", "hf:org/fox-GGUF:Q4_K_M@v1.0"),
        ("huggingface:org/fox", "hf:org/fox"),
        ("llama3.2:1b", "ollama:llama3.2:1b"),
    ],
)
def test_a_model_is_suggested(tmp_path, monkeypatch, location, name):
    monkeypatch.chdir(tmp_path)
    assert suggest_model(location) == name
    for opens in (open_model, open_subject):
        with pytest.raises(TokverifyError, match="did you mean `") as caught:
            opens(location)
        assert f"`{name}`" in str(caught.value)


@pytest.mark.parametrize(
    "location",
    [
        "fox.gguf",
        "fox",
        "models/fox.gguf",
        "models/fox.Q4_K_M",
        "fox.tiktoken:qwen",
        "../fox",
        "a/b/c",
        "http://127.0.0.1:8080",
        "C:model",
        "expect:x",
        "",
    ],
)
def test_nothing_is_suggested_for_the_name_of_a_file(tmp_path, monkeypatch, location):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    assert suggest_model(location) is None


@pytest.mark.parametrize(("file", "location"), [("llama3.2:1b", "llama3.2:1b"), ("ranks", "ranks:llama3")])
def test_a_file_with_such_a_name_is_opened(tmp_path, monkeypatch, file, location):
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_bytes(b"GGUF")
    assert find_model(location).location == location


@pytest.mark.parametrize("start", ["", "a:", "fox:"])
def test_a_name_that_is_too_long_is_an_error(start):
    with pytest.raises(TokverifyError, match="cannot be read"):
        open_model(start + "b" * 300)
