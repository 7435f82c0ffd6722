from pathlib import Path

import pytest

from tokverify.cases import suite
from tokverify.cases.loading import load_cases, read_shipped, shipped_suites
from tokverify.system.cache import VARIABLE, cache_directory

CASES = "cases:\n  - {id: first, text: 'a  b', tags: [spaces], expect: {gpt2: [64, 220, 275]}}\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[tuple[Path, str], ...]:
    (tmp_path / "one.yaml").write_text(CASES, encoding="utf-8")
    return ((tmp_path / "one.yaml", "cases/one.yaml"),)


def read_again(files: tuple[tuple[Path, str], ...]) -> list[suite.Suite]:
    """Read as another process would."""
    read_shipped.cache_clear()
    return read_shipped(files)


def test_all_shipped_suites_are_the_same_from_the_cache(monkeypatch: pytest.MonkeyPatch):
    read_shipped.cache_clear()
    parsed = load_cases()
    read_shipped.cache_clear()
    monkeypatch.setattr(suite, "read_suite", None)
    restored = load_cases()
    assert restored == parsed
    assert all(case.shipped for case in restored)
    assert {case.file for case in restored} == {f"cases/{file.name}" for file in shipped_suites().glob("*.yaml")}


def test_a_suite_that_has_changed_is_parsed_again(files):
    (before,) = read_again(files)
    files[0][0].write_text(CASES.replace("first", "other"), encoding="utf-8")
    (after,) = read_again(files)
    assert ([case.id for case in before.cases], [case.id for case in after.cases]) == (["first"], ["other"])
    assert after.cases[0].expect == {"gpt2": (64, 220, 275)}


@pytest.mark.parametrize(
    "content", ["", "{}", '{"version": 1, "digest": 5}', '{"version": 1, "suites": [{"cases": 1}]}']
)
def test_a_damaged_copy_is_ignored(files, content: str):
    (first,) = read_again(files)
    kept = cache_directory() / "suites.json"
    damaged = content or kept.read_text(encoding="utf-8").replace('"id": "first"', '"id": 5')
    kept.write_text(damaged, encoding="utf-8")
    assert read_again(files) == [first]


def test_a_suite_with_errors_is_parsed_every_time(files):
    files[0][0].write_text("cases: [{id: first}]", encoding="utf-8")
    for _ in range(2):
        (read,) = read_again(files)
        assert read.complaints == ["cases/one.yaml:1: a case has no text; add `text: ...`"]
    assert not (cache_directory() / "suites.json").exists()


def test_without_a_cache_suites_are_parsed(files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    assert [case.id for case in read_again(files)[0].cases] == ["first"]
