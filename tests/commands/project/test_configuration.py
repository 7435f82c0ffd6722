"""Test the configuration of a repository: location, content, and errors that name file and key."""

from pathlib import Path

import pytest

from tokverify.commands.project.configuration import ConfiguredModel
from tokverify.commands.project.configuration_reader import find_configuration, read_configuration
from tokverify.errors import TokverifyError
from tokverify.location import FromFile, Origin

FULL = """\
reports = ["junit=out-{name}.xml"]
jobs = 2

[[models]]
model = "models/a.gguf"
reference = "ref"
cases = ["cases"]
tags = ["emoji"]
baseline = "known.yaml"

[[models]]
name = "b"
model = "models/a.gguf"
reference = "org/name"
"""


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref").mkdir()
    return tmp_path


def test_all_keys_are_read(directory):
    (directory / "tokverify.toml").write_text(FULL)
    configuration = find_configuration(directory)
    file = directory / "tokverify.toml"

    def named(text: str, key: str) -> FromFile:
        return FromFile(text, Origin(file, key, directory, "--allow-outside"))

    assert (configuration.reports, configuration.jobs) == (("junit=out-{name}.xml",), 2)
    assert configuration.models == (
        ConfiguredModel(
            name="a",
            model=named("models/a.gguf", "models[0].model"),
            reference=named("ref", "models[0].reference"),
            cases=(Path("cases"),),
            tags=("emoji",),
            baseline=Path("known.yaml"),
        ),
        ConfiguredModel(
            name="b",
            model=named("models/a.gguf", "models[1].model"),
            reference=named("org/name", "models[1].reference"),
        ),
    )


def test_the_shipped_suites_can_be_combined_with_others(directory, monkeypatch):
    path = directory / "tokverify.toml"
    path.write_text('[[models]]\nmodel = "a.gguf"\ncases = ["shipped", "own", "./shipped"]\n')
    (directory / "deep" / "shipped").mkdir(parents=True)
    monkeypatch.chdir(directory / "deep")
    [model] = find_configuration(Path.cwd()).models
    assert model.cases == ("shipped", Path("../own"), Path("../shipped"))
    (directory / "shipped").mkdir()
    with pytest.raises(TokverifyError, match=r"models\[0\]\.cases\[0\] is ambiguous: 'shipped' means the suites"):
        find_configuration(Path.cwd())


def test_paths_are_relative_to_the_file(directory, monkeypatch):
    (directory / "tokverify.toml").write_text(FULL)
    (directory / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(directory / "deep" / "er")
    first, second = find_configuration(Path.cwd()).models
    assert first.model.text == "../../models/a.gguf"
    assert (first.reference.text, second.reference.text) == ("../../ref", "org/name")


def test_a_pyproject_needs_the_table(directory):
    project = directory / "pyproject.toml"
    project.write_text("[tool.other]\n")
    assert find_configuration(directory) is None
    project.write_text('[[tool.tokverify.models]]\nmodel = "a.gguf"\n')
    [model] = find_configuration(directory).models
    assert (model.name, model.model.text) == ("a", "a.gguf")
    (directory / "tokverify.toml").write_text('[[models]]\nmodel = "b.gguf"\n')
    assert find_configuration(directory).source.name == "tokverify.toml"


def test_the_search_ends_at_the_root_of_the_repository(directory):
    (directory / "tokverify.toml").write_text(FULL)
    (directory / "inner" / ".git").mkdir(parents=True)
    assert find_configuration(directory / "inner") is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "tokverify.toml: models is missing"),
        ("models = 1", "models must be a list of tables, written `[[models]]`"),
        ("[[models]]", "models[0].model is missing"),
        ("[[models]]\nmodel = ''", "models[0].model must be a non-empty string"),
        ("[[models]]\nmodell = 'a'", "models[0].modell is unknown; did you mean 'model'?"),
        ("[[models]]\nmodel = 'a'\ncases = 'b'", "models[0].cases must be a list of strings"),
        ("[[models]]\nmodel = 'a'\ncases = [1]", "models[0].cases[0] must be a non-empty string"),
        ("[[models]]\nmodel = 'a'\n[[models]]\nmodel = 'b/a'", "models[1].name is 'a' again"),
        ("[[models]]\nmodel = 'a'\nname = '../x'", "models[0].name is '../x'; use only letters"),
        ("jobs = 0\n[[models]]\nmodel = 'a'", "jobs must be a positive integer"),
        ("jobs = true\n[[models]]\nmodel = 'a'", "jobs must be a positive integer"),
        ("zzz = 1", "zzz is unknown; use one of models, reports, fail_on, strict, jobs"),
        ("[", "not valid TOML"),
        ('[[models]]\nmodel = "a\\u0000b"', "models[0].model contains U+0000"),
        ('reports = ["junit=a\\u0000b"]', "reports[0] contains U+0000"),
        ("a = '\x00'", "not valid TOML"),
    ],
)
def test_errors_name_the_file_and_the_key(directory, text, complaint):
    path = directory / "tokverify.toml"
    path.write_text(text)
    with pytest.raises(TokverifyError) as raised:
        read_configuration(path)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_errors_in_a_pyproject_name_the_table(directory):
    path = directory / "pyproject.toml"
    path.write_text("[tool.tokverify]\njobs = 0\n")
    with pytest.raises(TokverifyError, match=r"pyproject\.toml: tool\.tokverify\.jobs must be"):
        find_configuration(directory)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("[tool]\ntokverify = 3", "pyproject.toml: tool.tokverify must be a table"), ("tool = 3", "")],
)
def test_a_pyproject_without_the_table_is_ignored(directory, text, complaint):
    (directory / "pyproject.toml").write_text(text)
    if not complaint:
        assert find_configuration(directory) is None
        return
    with pytest.raises(TokverifyError) as raised:
        find_configuration(directory)
    assert complaint in str(raised.value)


def test_a_byte_order_mark_is_ignored(directory):
    (directory / "tokverify.toml").write_bytes(b'\xef\xbb\xbf[[models]]\nmodel = "a b\\u001b.gguf"\n')
    assert [model.name for model in find_configuration(directory).models] == ["a-b-"]
