"""Loading cases, and the shipped suites."""

import os
import re
from pathlib import Path

import pytest

from support.suite_file import ONE_CASE, complaints, write
from tokverify.case import SHIPPED, Case, is_shipped, name_of_source
from tokverify.cases import loading, suite
from tokverify.cases.loading import cases_or_shipped, load_cases, load_suites, select, select_cases, shipped_suites
from tokverify.errors import TokverifyError


def test_errors_of_all_files_are_reported_at_once(tmp_path: Path):
    write(tmp_path, "cases: 1\n", "a.yaml")
    write(tmp_path, "cases: 2\n", "b.yaml")
    assert [Path(line.split(":")[0]).name for line in complaints(tmp_path)] == ["a.yaml", "b.yaml"]


@pytest.mark.parametrize("name", ["absent.yaml", "nul\0.yaml", "loop.yaml"])
def test_file_that_cannot_be_read(tmp_path: Path, name: str):
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(TokverifyError, match=r"cannot read the cases: .*; check the path"):
        load_cases([tmp_path / name])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_refused_if_named_and_ignored_in_a_directory(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(TokverifyError, match=r"pipe\.yaml: not a regular file; copy its content into one"):
        load_cases([tmp_path / "pipe.yaml"])
    with pytest.raises(TokverifyError, match=r"no \*\.yaml"):
        load_cases([tmp_path])


def test_directory_without_suites(tmp_path: Path):
    write(tmp_path, ONE_CASE, ".hidden.yaml")
    write(tmp_path, ONE_CASE, "suite.txt")
    with pytest.raises(TokverifyError, match=r"no \*\.yaml"):
        load_cases([tmp_path])


def test_suite_name_used_by_another_file(tmp_path: Path):
    first = write(tmp_path, "suite: same\n" + ONE_CASE, "a.yaml")
    second = write(tmp_path, "note: hi\nsuite: same\n" + ONE_CASE, "b.yaml")
    [line] = complaints(tmp_path)
    assert line.startswith(f"{second}:2: ")
    assert f"'same' is already defined in {first}" in line


def test_directories_are_searched_in_order_and_files_read_once(tmp_path: Path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    b = write(tmp_path, ONE_CASE, "b.yaml")
    write(tmp_path, ONE_CASE, "a.yml")
    write(tmp_path / "deep" / "er", ONE_CASE, "c.yaml")
    assert [case.suite for case in load_cases([tmp_path])] == ["a", "b", "c"]
    assert [case.suite for case in load_cases([b, tmp_path, str(b)])] == ["b", "a", "c"]


def test_the_shipped_suites_have_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, ONE_CASE, "mine.yaml")
    shipped, mine = load_cases(), load_cases([Path("mine.yaml")])
    assert (all(case.shipped for case in shipped), mine[0].shipped) == (True, False)
    assert load_cases([SHIPPED, Path("mine.yaml")]) == shipped + mine
    assert load_cases([Path("mine.yaml"), SHIPPED, shipped_suites()]) == mine + shipped


def test_the_shipped_suites_are_read_once(monkeypatch: pytest.MonkeyPatch):
    first = load_cases()
    monkeypatch.setattr(suite, "read_suite", None)
    assert load_cases() == first


def test_a_path_is_never_confused_with_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TokverifyError, match="shipped: cannot read the cases"):
        load_cases([Path(SHIPPED)])
    (tmp_path / SHIPPED).mkdir()
    write(tmp_path / SHIPPED, ONE_CASE, "mine.yaml")
    assert [case.suite for case in load_cases([Path(SHIPPED)])] == ["mine"]
    assert (name_of_source(SHIPPED), name_of_source(Path(SHIPPED))) == ("shipped", "./shipped")


def test_an_ambiguous_name_is_refused(tmp_path: Path):
    assert is_shipped(SHIPPED, tmp_path)
    assert not is_shipped("./shipped", tmp_path)
    (tmp_path / SHIPPED).mkdir()
    with pytest.raises(TokverifyError, match=r"exists as well; write \./shipped to use that path"):
        is_shipped(SHIPPED, tmp_path)
    assert not is_shipped("./shipped", tmp_path)


THEMES = [
    "byte-fallback",
    "chat",
    "code",
    "cpp-hybrid",
    "digits",
    "edge",
    "emoji",
    "markers",
    "newlines",
    "normalization",
    "punctuation",
    "scripts",
    "seed",
    "spaces",
    "specials",
    "tabs",
    "words",
]


@pytest.fixture(scope="module")
def shipped() -> list[Case]:
    return load_cases()


def test_shipped_themes_and_count(shipped: list[Case]):
    assert sorted({case.suite for case in shipped}) == THEMES
    assert len(shipped) >= 250
    assert all(Path(case.file).stem == case.suite for case in shipped)


def test_shipped_cases_are_explained_and_unique(shipped: list[Case]):
    assert len({(case.suite, case.id) for case in shipped}) == len(shipped)
    assert len({(case.text, case.add_special, case.parse_special) for case in shipped}) == len(shipped)
    for case in shipped:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", case.id), case.id
        assert case.note.endswith("."), case.id
        assert case.tags, case.id


def test_shipped_suites_have_no_hints():
    assert [hint for suite in load_suites() for hint in suite.hints] == []


def test_shipped_seed_suite(shipped: list[Case]):
    seed = select(shipped, suites=["seed"])
    counts = [len(case.expect["gemma-3"]) for case in seed]
    assert len(seed) == 16
    assert counts[:6] == [5, 4, 4, 7, 9, 7], "the counts that the suite's first description prints"
    [spaces] = select(seed, patterns=["extra-spaces"])
    assert spaces.expect["gemma-3"] == (3017, 139, 4060, 139, 27909, 139, 35220)


@pytest.mark.parametrize(
    ("suite", "pattern", "unit"),
    [("spaces", "*-[0-9]*", " "), ("tabs", "*-[0-9]*", "\t"), ("newlines", "*-[0-9]*", "\n"), ("digits", "run-*", "3")],
)
def test_shipped_ladders_are_as_long_as_their_ids_say(shipped: list[Case], suite: str, pattern: str, unit: str):
    for case in select(shipped, suites=[suite], patterns=[pattern], tags=["ladder"]):
        length = int(case.id.rsplit("-", 1)[1])
        assert case.text.count(unit) == length
        assert unit * length in case.text


def test_shipped_languages_of_code(shipped: list[Case]):
    languages = {"python", "c", "cpp", "rust", "go", "javascript", "java", "haskell", "sql", "shell", "html", "json"}
    assert languages <= {case.id for case in select(shipped, suites=["code"])}


@pytest.mark.slow
def test_shipped_expectations_match_the_reference(shipped: list[Case], vocabs: Path):
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(vocabs / "gemma-3.tokenizer.json"))
    expecting = [case for case in shipped if "gemma-3" in case.expect]
    assert len(expecting) >= 16
    for case in expecting:
        assert reference.encode(case.text, add_special_tokens=case.add_special).ids == list(case.expect["gemma-3"])


@pytest.mark.parametrize("vocabulary", ["gemma-3", "gpt-2"])
def test_shipped_cases_can_be_encoded(shipped: list[Case], vocabs: Path, vocabulary: str):
    from tokenizers import Tokenizer

    reference = Tokenizer.from_file(str(vocabs / f"{vocabulary}.tokenizer.json"))
    for case in shipped:
        ids = reference.encode(case.text, add_special_tokens=case.add_special).ids
        assert bool(ids) == bool(case.text or (case.add_special and vocabulary == "gemma-3"))


def test_shipped_suites_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loading, "__file__", str(tmp_path / "tokverify" / "cases" / "loading.py"))
    assert shipped_suites() == tmp_path / "cases"
    (tmp_path / "tokverify" / "cases" / "suites").mkdir(parents=True)
    assert shipped_suites() == tmp_path / "tokverify" / "cases" / "suites"


def test_a_string_names_one_suite_tag_or_pattern_and_not_its_letters():
    tagged = select_cases(tags=["spaces"])
    assert select_cases(tags="spaces") == tagged != []
    assert {case.suite for case in select_cases(suites="tabs")} == {"tabs"}
    assert select_cases(patterns="tab-*") == select_cases(patterns=["tab-*"])


def test_a_path_is_one_suite_and_is_no_case(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("suite: mine\ncases:\n  - id: a\n    text: a\n")
    assert load_cases(str(path)) == load_cases([path])
    for given in (str(path), path, [path]):
        with pytest.raises(TokverifyError, match=r"mine\.yaml: not a Case; load_cases"):
            cases_or_shipped(given)
