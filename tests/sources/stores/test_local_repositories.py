"""`lmstudio:` and `llamacpp:`: the directories of other programs."""

import os
from pathlib import Path

import pytest
from huggingface_hub import constants

from support.locations import find_model
from tokverify.errors import TokverifyError
from tokverify.sources.stores.local_repositories import LLAMA_CACHE, expand

FILES = ("me/fox-GGUF/fox-Q4_K_M.gguf", "me/fox-GGUF/fox-Q8_0.gguf", "me/fox-GGUF/mmproj-fox.gguf", "you/den/den.gguf")


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"GGUF")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """An empty home directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    for variable in (LLAMA_CACHE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


@pytest.mark.parametrize("root", [".lmstudio", ".cache/lm-studio", "elsewhere"])
def test_a_model_of_lm_studio_is_found_by_name(home, root):
    if root == "elsewhere":
        (home / ".lmstudio-home-pointer").write_text(f"{home / root}\n")
    write(home / root / "models", *FILES)
    found = find_model("lmstudio:me/fox-GGUF:q8_0")
    assert found.path == home / root / "models/me/fox-GGUF/fox-Q8_0.gguf"
    assert (found.location, found.name) == ("lmstudio:me/fox-GGUF:fox-Q8_0.gguf", "fox-Q8_0")
    assert find_model("lmstudio:fox-GGUF").name == "fox-Q4_K_M"
    assert find_model(found.location) == found


def test_an_ambiguous_or_unknown_name_is_an_error_that_helps(home):
    with pytest.raises(TokverifyError, match="not found; none of its directories exists; name the file itself"):
        find_model("lmstudio:fox")
    write(home / ".lmstudio/models", "me/fox/a.gguf", "you/fox/a.gguf")
    with pytest.raises(TokverifyError, match="several models match; name one of me/fox, you/fox"):
        find_model("lmstudio:fox")
    with pytest.raises(TokverifyError, match=r"not found; looked in .*\.lmstudio/models; check the name"):
        find_model("lmstudio:me/den")
    with pytest.raises(TokverifyError, match="not the name of a model"):
        find_model("lmstudio:../../etc/passwd")


def test_a_pattern_lists_models_or_files(home):
    write(home / ".lmstudio/models", *FILES)
    assert expand("lmstudio", "*") == ["lmstudio:me/fox-GGUF", "lmstudio:you/den"]
    assert expand("lmstudio", "me/*") == ["lmstudio:me/fox-GGUF"]
    assert expand("lmstudio", "fox*:*") == [
        "lmstudio:me/fox-GGUF:fox-Q4_K_M.gguf",
        "lmstudio:me/fox-GGUF:fox-Q8_0.gguf",
    ]
    with pytest.raises(TokverifyError, match="no model matches"):
        expand("lmstudio", "z*")


@pytest.mark.parametrize("variable", [True, False])
def test_llama_cpp_shares_the_cache_of_the_hub(home, monkeypatch, variable):
    root = home / ("llama" if variable else "hf")
    if variable:
        monkeypatch.setenv(LLAMA_CACHE, str(root))
    write(root, "models--me--fox/snapshots/old/fox.gguf", "models--me--fox/snapshots/new/fox.gguf")
    os.utime(root / "models--me--fox/snapshots/old/fox.gguf", (0, 0))
    found = find_model("llamacpp:me/fox")
    assert (found.location, found.path) == (
        "llamacpp:me/fox:fox.gguf",
        root / "models--me--fox/snapshots/new/fox.gguf",
    )


def test_an_older_llama_cpp_kept_all_files_in_one_directory(home):
    root = home / ".cache/llama.cpp"
    write(root, "me_my_fox_fox-Q4_0.gguf", "me_my_other.gguf", "manifest=me=my_fox=latest.json")
    assert find_model("llamacpp:me/my_fox").path == root / "me_my_fox_fox-Q4_0.gguf"
    assert expand("llamacpp", "*") == ["llamacpp:me/my_fox"]
