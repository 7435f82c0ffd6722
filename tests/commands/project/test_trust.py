"""Test that a configuration by a stranger reaches nothing outside of its repository, except with an option."""

import json
import shutil
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from support.locations import configured
from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.commands.project.configuration_file import repository_of
from tokverify.commands.project.configuration_reader import read_configuration
from tokverify.errors import TokverifyError
from tokverify.location import FromFile

SUITE = "suite: own\ncases:\n  - {id: word, text: test}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a model and its reference; beside it is a directory with the same files."""
    for directory in (tmp_path / "elsewhere", tmp_path / "repository"):
        directory.mkdir()
        for name in ("sample.gguf", "sample.tokenizer.model"):
            shutil.copy(SAMPLE / name, directory / name)
        (directory / "suite.yaml").write_text(SUITE)
        shutil.copy(SAMPLE / "sample.tokenizer.model", directory / "tokenizer.model")
        (directory / "known.yaml").write_text("[]\n")
    root = tmp_path / "repository"
    (root / ".git").mkdir()
    monkeypatch.chdir(root)
    return root


def configure(*, reports: tuple[str, ...] = (), **keys: object) -> None:
    """Write a configuration of a model inside the repository, except for `keys`."""
    inside = {"model": "sample.gguf", "reference": "sample.tokenizer.model", "cases": ["suite.yaml"]}
    lines = [f"{key} = {json.dumps(value)}" for key, value in (inside | keys).items()]
    Path("tokverify.toml").write_text("\n".join([f"reports = {json.dumps(reports)}", "[[models]]", *lines]))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


OUTSIDE = [
    {"model": "../elsewhere/sample.gguf"},
    {"model": "link.gguf"},
    {"reference": "../elsewhere/sample.tokenizer.model"},
    {"reference": "sentencepiece:../elsewhere/sample.tokenizer.model"},
    {"reference": "../elsewhere"},
    {"reference": "linked"},
    {"cases": ["../elsewhere/suite.yaml"]},
    {"cases": ["linked/suite.yaml"]},
    {"cases": ["cases"]},
    {"baseline": "../elsewhere/known.yaml"},
    {"baseline": "known-link.yaml"},
]


@pytest.fixture
def links(repository: Path) -> None:
    elsewhere = repository.parent / "elsewhere"
    (repository / "link.gguf").symlink_to(elsewhere / "sample.gguf")
    (repository / "linked").symlink_to(elsewhere)
    (repository / "known-link.yaml").symlink_to(elsewhere / "known.yaml")
    (repository / "cases").mkdir()
    (repository / "cases" / "suite.yaml").symlink_to(elsewhere / "suite.yaml")


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("keys", OUTSIDE)
def test_a_configuration_reads_nothing_outside_without_the_option(keys: dict[str, object]):
    configure(**keys)
    result = run()
    assert result.exit_code == 2, result.output
    assert "outside of the repository" in result.stderr
    assert "allow it with --allow-outside" in result.stderr
    assert f"models[0].{next(iter(keys))}" in result.stderr
    allowed = run("--allow-outside")
    assert allowed.exit_code == 0, allowed.output


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize(
    ("command", "code"), [(("fix", "--dry-run"), 0), (("fuzz", "--texts", "9"), 0), (("chat",), 2), (("audit",), 0)]
)
def test_every_command_that_uses_a_configured_model_can_allow_files_outside(command: tuple[str, ...], code: int):
    configure(reference="../elsewhere/sample.tokenizer.model")
    refused, allowed = (
        CliRunner().invoke(main, [command[0], "sample.gguf", *command[1:], *option])
        for option in ((), ("--allow-outside",))
    )
    assert (refused.exit_code, "allow it with --allow-outside" in refused.stderr) == (2, True)
    assert allowed.exit_code == code, allowed.output


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    "command",
    [["encode", "own", "a"], ["inspect", "own"], *([name, "own"] for name in ("audit", "run", "fix", "fuzz", "chat"))],
)
def test_the_name_of_a_model_outside_does_not_lead_there(command: list[str]):
    configure(name="own", model="../elsewhere/sample.gguf")
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2, result.output
    assert "outside of the repository" in result.stderr


@pytest.mark.usefixtures("repository")
def test_a_configuration_reads_everything_inside():
    Path("inner").mkdir()
    shutil.copy("sample.gguf", "inner")
    configure(model="inner/../inner/sample.gguf", baseline="known.yaml", reports=("json=out.json",))
    result = run()
    assert result.exit_code == 0, result.output
    assert Path("out.json").exists()


@pytest.mark.parametrize("place", ["../out.json", "link.json", "linked/out.json", "{name}.json"])
def test_a_configured_report_is_written_only_inside(repository: Path, place: str):
    target = repository.parent / "elsewhere" / "out.json"
    for name in ("link.json", "sample.json"):
        (repository / name).symlink_to(target)
    (repository / "linked").symlink_to(target.parent)
    configure(reports=(f"json={place}",))
    for arguments in ((), ("--allow-outside",)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "a configured report may be written only inside the repository" in result.stderr
    assert not target.exists()
    assert not (repository.parent / "out.json").exists()


@pytest.mark.parametrize(
    "place", [".git/hooks/pre-commit", "sub/../.git/hooks/pre-commit", ".GIT/x", ".git /x", "hook", "hooks/pre-commit"]
)
def test_no_report_is_written_for_git_to_run(repository: Path, place: str):
    hooks = repository / ".git" / "hooks"
    for directory in (hooks, repository / ".GIT", repository / ".git ", repository / "sub"):
        directory.mkdir(exist_ok=True)
    hook = hooks / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    (repository / "hook").symlink_to(hook)
    (repository / "hooks").symlink_to(hooks)
    configure(reports=(f"table={place}",))
    for arguments in ((), ("--allow-outside",), ("--report", f"table={place}"), ("-f", "table", "-o", place)):
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert "belongs to git" in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert hook.read_text() == "#!/bin/sh\n"
    assert not [*repository.glob(".[gG][iI][tT]*/x")]


def test_a_configured_baseline_is_not_written_for_git(repository: Path):
    (repository / ".git" / "hooks").mkdir()
    configure(baseline=".git/hooks/pre-commit")
    result = run("sample.gguf", "--accept")
    assert (result.exit_code, "belongs to git" in result.stderr) == (2, True), result.output
    assert not [*(repository / ".git" / "hooks").iterdir()]


@pytest.mark.parametrize("is_configured", [True, False])
def test_a_baseline_that_nobody_names_is_not_written_where_a_link_leads(repository: Path, is_configured: bool):
    if is_configured:
        configure()
    target = repository.parent / "elsewhere" / "new.yaml"
    (repository / "tokverify-accepted.yaml").symlink_to(target)
    result = run("sample.gguf", "-r", "sample.tokenizer.model", "--accept", "--reason", "x")
    assert (result.exit_code, "a link leads out of the repository" in result.stderr) == (2, True), result.output
    assert not target.exists()


def test_a_report_cannot_be_executed(repository: Path):
    (repository / "hook.json").write_text("#!/bin/sh\n")
    (repository / "hook.json").chmod(0o750)
    configure(reports=("json=hook.json",))
    assert run().exit_code == 0
    assert stat.S_IMODE((repository / "hook.json").stat().st_mode) == 0o640


def test_the_user_may_write_anywhere(repository: Path):
    configure(reports=("json=../configured.json",))
    result = run("--report", "json=../chosen.json")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in repository.parent.glob("*.json")) == ["chosen.json"]


def test_the_place_of_a_configured_reference_is_marked(repository: Path):
    configure(reference="http://127.0.0.1:1")
    [model] = read_configuration(repository / "tokverify.toml").models
    assert isinstance(model.reference, FromFile)


def test_without_a_repository_the_directory_counts(tmp_path: Path):
    (tmp_path / "tokverify.toml").write_text('[[models]]\nmodel = "../a.gguf"\n')
    assert repository_of(tmp_path / "tokverify.toml") == tmp_path
    with pytest.raises(TokverifyError, match=r"models\[0\]\.model leads to .*a\.gguf, outside of the repository"):
        read_configuration(tmp_path / "tokverify.toml")


def test_a_loop_of_links_leads_nowhere(repository: Path):
    (repository / "loop").symlink_to("loop")
    assert Path(configured("loop", repository)) == Path("loop")
