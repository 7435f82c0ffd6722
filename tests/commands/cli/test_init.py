"""Test `tokverify init`: files, output, and that existing files are kept."""

import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.commands.project.configuration_reader import read_configuration
from tokverify.commands.project.installation import Installation
from tokverify.commands.tasks import init as task

CONFIGURATION = "tokverify.toml"
WORKFLOW = ".github/workflows/tokverify.yml"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(directory: Path, *names: str) -> None:
    directory.mkdir(exist_ok=True)
    for name in names:
        shutil.copy(SAMPLE / name, directory / name)


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def init(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["init", *arguments])


def test_the_written_configuration_runs(directory):
    fill(directory, "sample.gguf", "sample.tokenizer.model")
    (directory / "own.yaml").write_text("suite: own\ncases:\n- {id: a, text: test}\n")
    result = init()
    assert result.exit_code == 0, result.output
    first, second, *_, last = result.stdout.splitlines()
    assert first == "sample.gguf against sample.tokenizer.model"
    assert second == "cases: those that come with tokverify, and those in own.yaml"
    assert last == f"wrote {CONFIGURATION} and {WORKFLOW}; next, run `tokverify check`"
    assert CliRunner().invoke(main, ["run", "-q", "--suite", "own"]).stdout.startswith("1 case: 1 match")
    assert CliRunner().invoke(main, ["run", "-q", "--suite", "tabs"]).exit_code == 0


def test_what_could_keep_the_workflow_from_installing_is_noted(directory, monkeypatch):
    planned = Installation("pip install it", "pip wheel it", ("first", "second\x1b"))
    monkeypatch.setattr(task, "plan_installation", lambda _: planned)
    fill(directory, "sample.gguf")
    lines = init().stdout.splitlines()
    assert lines[lines.index("$ pip wheel it") + 1 :][:2] == ["note: first", "note: second\\x1b"]


def test_a_model_without_a_reference_is_reported(directory):
    fill(directory, "sample.gguf")
    assert "sample.gguf against a reference to be detected; naming one is better" in init().stdout
    [model] = read_configuration(Path(CONFIGURATION)).models
    assert (model.model.text, model.reference) == ("sample.gguf", None)


def test_another_directory(directory):
    fill(directory / "models", "sample.gguf", "sample-broken.gguf", "sample.tokenizer.model")
    result = init("models")
    assert result.exit_code == 0
    assert (
        f"wrote models/{CONFIGURATION} and models/{WORKFLOW}; next, run `tokverify check` in models\n" in result.stdout
    )
    steps = yaml.safe_load((directory / "models" / WORKFLOW).read_text())["jobs"]["tokverify"]["steps"]
    assert steps[-1]["run"].startswith("tokverify check")
    assert {model.name for model in read_configuration(directory / "models" / CONFIGURATION).models} == {
        "sample",
        "sample-broken",
    }


@pytest.mark.parametrize("taken", [[CONFIGURATION], [WORKFLOW], [CONFIGURATION, WORKFLOW]])
def test_existing_files_are_not_overwritten(directory, taken):
    fill(directory, "sample.gguf")
    for name in taken:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("ours")
    before = files(directory)
    result = init()
    assert result.exit_code == 2
    exist, them = ("exists", "it") if len(taken) == 1 else ("exist", "them")
    advice = f"already {exist}; move {them} away, or overwrite {them} with --force"
    assert result.stderr == f"error: {', '.join(taken)}: {advice}\n"
    assert files(directory) == before
    assert init("--force").exit_code == 0
    assert files(directory).keys() == before.keys() | {CONFIGURATION, WORKFLOW}
    assert b"ours" not in files(directory).values()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], ".: contains neither a GGUF file nor two tokenizers to compare; add a GGUF file first"),
        (["absent"], "absent: no such directory; create it first"),
        (["readme.md"], "readme.md: no such directory; create it first"),
        (["--force"], ".: contains neither a GGUF file nor two tokenizers to compare; add a GGUF file first"),
    ],
)
def test_nothing_is_written_without_tokenizers(directory, arguments, error):
    (directory / "readme.md").write_text("x")
    before = files(directory)
    result = init(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {error}\n")
    assert files(directory) == before


def test_a_workflow_directory_that_cannot_be_created_is_an_error(directory):
    fill(directory, "sample.gguf")
    (directory / ".github").write_text("a file")
    before = files(directory)
    result = init()
    assert result.exit_code == 2
    assert result.stderr.startswith("error: .github")
    assert len(result.stderr.splitlines()) == 1
    assert files(directory) == before


def test_hostile_names_are_escaped(directory):
    fill(directory, "sample.gguf")
    (directory / "sample.gguf").rename(directory / "a\x1b[31m\\b.gguf")
    result = init()
    assert result.exit_code == 0
    assert "a\\x1b[31m\\b.gguf against" in result.stdout
    assert "\x1b" not in result.output + Path(CONFIGURATION).read_text()


@pytest.mark.parametrize("link", [".github", ".github/workflows", WORKFLOW, CONFIGURATION])
@pytest.mark.parametrize("arguments", [[], ["--force"]])
def test_nothing_is_written_where_a_link_leads(directory, link, arguments):
    own, outside = directory / "own", directory / "outside"
    fill(own, "sample.gguf")
    outside.mkdir()
    (own / link).parent.mkdir(parents=True, exist_ok=True)
    (own / link).symlink_to(outside / "new" if "." in Path(link).name[1:] else outside)
    result = init("own", *arguments)
    assert (result.exit_code, "a link leads out of the repository" in result.stderr) == (2, True), result.output
    assert not [*outside.iterdir()]
