"""Test that no location exists without its origin, and that one from a file leads nowhere that only a user may go."""

import ast
import copy
from pathlib import Path

import pytest

from support.locations import configured
from support.paths import ROOT
from tokverify.errors import TokverifyError
from tokverify.location import FromFile, Location, Origin, Typed
from tokverify.references import open_location

PACKAGE = ROOT / "tokverify"
MAKERS = {
    "Typed": ("commands/", "location.py", "sources/stores/location.py"),
    "locate": ("commands/", "pytest_plugin.py", "references/__init__.py"),
    "FromFile": ("commands/project/configuration_reader.py", "corpus/state.py", "location.py"),
    "open_reference": ("commands/", "references/__init__.py"),
    "load_reference": (),
}
"""What makes a location of text -> where it may be called. The references accept the text of other packages."""


@pytest.fixture(scope="module")
def calls() -> dict[str, set[str]]:
    """Return the modules that call each function of the table."""
    places: dict[str, set[str]] = {name: set() for name in MAKERS}
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text("utf-8")
        if not any(f"{name}(" in source for name in MAKERS):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                places[node.func.id].add(path.relative_to(PACKAGE).as_posix())
    return places


@pytest.mark.parametrize("name", MAKERS)
def test_locations_are_made_only_where_users_type_and_files_are_read(calls, name):
    assert {place for place in calls[name] if not place.startswith(MAKERS[name] or "nowhere")} == set()


def test_there_are_two_kinds_of_locations():
    assert set(Location.__subclasses__()) == {Typed, FromFile}
    with pytest.raises(TypeError):
        FromFile("a")
    with pytest.raises(TypeError, match="only a string can be typed"):
        Typed(configured("a"))
    with pytest.raises(NotImplementedError):
        _ = Location().text


def test_the_text_of_a_location_from_a_file_is_not_taken_for_its_place():
    location = configured("command:ls")
    assert str(location) != "command:ls"
    assert isinstance(location.at("ls"), FromFile)
    assert copy.copy(location) == location
    with pytest.raises(TokverifyError, match="may not run"):
        location.require_typed("it", "run")


OUTSIDE = [
    "../outside",
    "../outside/tokenizer.json",
    "transformers:../outside",
    "transformers:../outside,slow",
    "tokenizers:../outside/tokenizer.json",
    "gguf:../outside/a.gguf",
    "llama.cpp:../outside/a.gguf",
    "tiktoken:../outside/a.tiktoken:cl100k_base",
    "vocab:../outside/vocab.json",
    "link.tiktoken:cl100k_base",
    "tiktoken:link.tiktoken:cl100k_base",
    "inside",
    "transformers:inside",
    "inside/tokenizer.json",
    "gguf:ollama:a",
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_a_location_from_a_file_leads_not_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for directory in (root, outside, root / "inside"):
        directory.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "a.gguf", "a.tiktoken", "vocab.json"):
        (outside / name).write_text("{}")
    (root / "link.tiktoken").symlink_to(outside / "a.tiktoken")
    (root / "inside" / "tokenizer.json").write_text("{}")
    (root / "inside" / "tokenizer_config.json").symlink_to(outside / "tokenizer_config.json")
    monkeypatch.chdir(root)
    with pytest.raises(TokverifyError, match="outside of the repository"):
        open_location(configured(text, root))


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("config.json", "config.json"),
        ("added_tokens.json", "secret.json"),
        ("additional_chat_templates", "."),
        ("additional_chat_templates/tool_use.jinja", "secret.jinja"),
    ],
)
def test_what_is_read_beside_a_tokenizer_from_a_file_leads_not_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str, target: str
):
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    for name in ("config.json", "secret.json", "secret.jinja"):
        (outside / name).write_text("{}")
    (root / link).parent.mkdir(parents=True)
    (root / "tokenizer.json").write_text("{}")
    (root / link).symlink_to(outside / target)
    monkeypatch.chdir(root)
    with pytest.raises(TokverifyError, match="outside of the repository"):
        open_location(configured("tokenizer.json", root))


def test_a_model_from_a_file_is_not_compared_with_a_link_beside_it(tmp_path: Path):
    from tokverify.references.discovery import find_reference
    from tokverify.sources.stores.location import find_model
    from tokverify.spec import TokenizerSpec

    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.json").write_text("{}")
    (root / "a.json").symlink_to(tmp_path / "secret.json")
    file = find_model(FromFile(str(root / "a.gguf"), Origin(root / "tokverify.toml", "model", root, "--allow-outside")))
    with pytest.raises(TokverifyError, match=r"leads to .*a\.json, outside of the repository"):
        find_reference(file, TokenizerSpec(model="llama", tokens=["a"]))
