"""The table of builds agrees with the builds at hand, other than those it was made from, and its page with it."""

import json
import os
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from tokverify.references.llama_cpp_library import Library, wheels

sys.path.insert(0, str(ROOT / "benchmarks"))
import builds as tool

LIBRARIES = dict(each.split("=", 1) for each in os.environ.get("TOKVERIFY_BUILDS", "").split())
"""Build -> library, of further builds to compare with the table."""
TABLE = json.loads(tool.TABLE.read_text(encoding="utf-8"))


def check(build: int, library: Path | str) -> None:
    found = tool.ask(os.environ.get("TOKVERIFY_BUILDS_PYTHON", sys.executable), str(library), tool.names_of(TABLE))
    assert tool.find_contradictions(TABLE, build, found) == []
    assert found["keys"]


@pytest.mark.slow  # nothing but a new llama.cpp or another table changes the answer
def test_the_installed_build_agrees_with_the_table(library: Library):
    build = int(library.version.rpartition(".")[2])
    assert build not in TABLE["builds"]
    check(build, library.path)


@pytest.mark.slow
@pytest.mark.parametrize("build", LIBRARIES)
def test_every_build_at_hand_agrees_with_the_table(build: str):
    check(int(build), LIBRARIES[build])


def test_a_contradiction_is_found():
    table = {"builds": [10, 20], "models": {"a": 0, "b": 20}, "texts": {"</s>": [[0, [4, 0]], [20, [12, 1]]]}}
    table |= {section: {} for section in ("pre_tokenizers", "architectures", "keys", "flags")}
    nothing = {section: [] for section in ("pre_tokenizers", "architectures", "keys")}
    build = {**nothing, "models": ["a"], "texts": {"</s>": [4, 0]}, "flags": {}}
    assert tool.find_contradictions(table, 10, build) == []
    assert tool.find_contradictions(table, 15, build) == []  # between two builds of the table, nobody knows
    assert tool.find_contradictions(table, 21, build) == ["models: b", "texts: </s> is [4, 0], not [12, 1]"]


def test_the_table_follows_from_what_it_says_of_each_build():
    """So a build can be added to it without asking the others again."""
    assert tool.make_table(tool.builds_of(TABLE)) == TABLE


def test_the_page_is_made_from_the_table():
    """If this fails: `python benchmarks/builds.py --page > docs/builds.md`."""
    tables = [json.loads(path.read_text(encoding="utf-8")) for path in (tool.WHEELS, tool.RELEASES)]
    assert (ROOT / "docs" / "builds.md").read_text(encoding="utf-8") == tool.render_page(TABLE, *tables)


def test_every_release_is_in_order_and_has_a_source_and_a_build_of_the_table():
    for program, release in json.loads(tool.RELEASES.read_text(encoding="utf-8")).items():
        versions, numbers = zip(*release["builds"].items(), strict=True)
        assert list(versions) == sorted(versions, key=lambda version: list(map(int, version.split("."))))
        assert list(numbers) == sorted(numbers)
        assert TABLE["builds"][0] <= numbers[0] <= numbers[-1] <= TABLE["builds"][-1]
        assert release["source"].startswith("https://")
        assert program == program.lower()


def test_every_wheel_has_a_digest():
    assert len(wheels()) > 50
    assert all(len(digest) == 64 and package and version for package, version, digest in wheels().values())
