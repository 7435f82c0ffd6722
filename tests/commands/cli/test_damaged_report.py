"""Test `tokverify report show` with damaged and malicious reports."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.hostile import FORBIDDEN
from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.render.kinds import FORMATS

BROKEN, REFERENCE = (str(SAMPLE / name) for name in ("sample-broken.gguf", "sample.tokenizer.model"))
HOSTILE = "\x1b[31m\x00\u202e"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("saved")
    for command in (["run", BROKEN, "-r", REFERENCE, "-k", "tabs/only-*"], ["audit", BROKEN, "-r", REFERENCE]):
        result = CliRunner().invoke(main, [*command, "-o", str(directory / f"{command[0]}.json")])
        assert result.exit_code == 1, result.output
    return directory


def show(saved: Path, kind: str, place: list[object], value: object, name: str = "table") -> Result:
    """Show a report with one value replaced."""
    document = json.loads((saved / f"{kind}.json").read_text())
    owner = document
    for key in place[:-1]:
        owner = owner[key]
    owner[place[-1]] = value
    path = saved / "damaged.json"
    path.write_text(json.dumps(document))
    return CliRunner().invoke(main, ["report", "show", str(path), "-f", name])


def complaint(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert not any(character in result.stderr for character in FORBIDDEN)
    return result.stderr


@pytest.mark.parametrize(
    ("kind", "place", "value", "message"),
    [
        (
            "run",
            ["kind"],
            f"odd\n{HOSTILE}",
            'reports of kind "odd↵\\x1b[31m\\x00\\u202e" are unknown to this tokverify; update it',
        ),
        ("run", ["actual", "settings"], [], "$.actual.settings: Expected `object`, got `array`"),
        ("audit", ["rules", 0, "code"], HOSTILE, "$.rules[0].code: Expected `str` matching regex"),
        ("audit", ["findings", 0, "code"], "", "$.findings[0].code: Expected `str` matching regex"),
        ("audit", ["findings", 0, "name"], HOSTILE, "$.findings[0].name: Expected `str` matching regex"),
        ("audit", ["not_evaluated", 0, "name"], "a b", "$.not_evaluated[0].name: Expected `str` matching regex"),
        ("audit", ["fingerprint"], HOSTILE, "$.fingerprint: Expected `str` matching regex"),
    ],
)
def test_an_inconsistent_report_is_rejected_in_one_line(
    saved: Path, kind: str, place: list[object], value: object, message: str
):
    assert message in complaint(show(saved, kind, place, value))


@pytest.mark.parametrize("place", [["options", "deep"], ["actual", "settings", "deep"]])
def test_a_document_that_is_nested_too_deep_is_rejected(saved: Path, place: list[object]):
    deep: list[object] = []
    for _ in range(96):
        deep = [deep]
    assert show(saved, "run", place, deep, "json").exit_code == 1
    assert "nested more than 100 levels deep" in complaint(show(saved, "run", place, [[[deep]]], "json"))


@pytest.mark.parametrize("name", ["table", "markdown", "html"])
@pytest.mark.parametrize("place", [["expected", "caveat"], ["actual", "source"], ["results", 0, "case", "file"]])
def test_nothing_hostile_reaches_the_terminal(saved: Path, place: list[object], name: str):
    result = show(saved, "run", place, HOSTILE, name)
    assert result.exit_code == 1, result.output
    assert not any(character in result.stdout for character in FORBIDDEN)


@pytest.mark.parametrize("name", ["github", "gitlab", "sarif"])
@pytest.mark.parametrize("file", ["\ud800", "a\0b", "https://example.org//a", "C:\\a.yaml", "../" * 50])
def test_no_path_is_too_odd_for_ci_systems(saved: Path, name: str, file: str):
    result = show(saved, "run", ["results", 0, "case", "file"], file, name)
    assert result.exit_code == 1, result.output
    result.stdout_bytes.decode()


@pytest.mark.parametrize("name", FORMATS["audit"])
@pytest.mark.parametrize(
    "place", [["findings", 0, "code"], ["rules", 0, "code"], ["rules"], ["not_evaluated", 0, "code"]]
)
def test_a_difference_in_rules_is_shown(saved: Path, place: list[object], name: str):
    result = show(saved, "audit", place, [] if place == ["rules"] else "TV999", name)
    assert result.exit_code == 1, result.output
