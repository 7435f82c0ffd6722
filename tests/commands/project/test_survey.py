"""Test the survey of a repository and the files that `tokverify init` writes for it."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from support.paths import SAMPLE
from tokverify.commands.cli import main
from tokverify.commands.project.configuration_reader import read_configuration
from tokverify.commands.project.start import render_configuration, survey
from tokverify.errors import TokverifyError


def make(directory: Path, *names: str) -> Path:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"cases:\n- {id: a, text: a}\n" if path.suffix == ".yaml" else b"x")
    return directory


@pytest.mark.parametrize(
    ("files", "models", "suites"),
    [
        (["a.gguf"], [("a.gguf", None)], []),
        (["a.gguf", "tokenizer.json"], [("a.gguf", "tokenizer.json")], []),
        (["m/a.gguf", "ref/tokenizer.model", "t/own.yaml"], [("m/a.gguf", "ref/tokenizer.model")], ["t"]),
        (
            ["a.gguf", "o.yaml", "t/b.yaml", "t/deep/no.yml", "u/c.yaml", "u/v/d.yaml"],
            [("a.gguf", None)],
            ["o.yaml", "t/b.yaml", "u"],
        ),
        (
            ["m/a.gguf", "m/b.gguf", "m/b.tokenizer.json", "m/tokenizer.json"],
            [("m/a.gguf", "m/tokenizer.json"), ("m/b.gguf", "m/b.tokenizer.json")],
            [],
        ),
        (["a-00001-of-00002.gguf", "a-00002-of-00002.gguf"], [("a-00001-of-00002.gguf", None)], []),
        (["tokenizer.json", "tokenizer.model"], [("tokenizer.model", "tokenizer.json")], []),
        (["a.gguf", ".venv/b.gguf", "node_modules/c.gguf"], [("a.gguf", None)], []),
        (["a.gguf", "x/tokenizer.json", "y/tokenizer.json"], [("a.gguf", None)], []),
        (
            ["m/a.gguf", "n/b.gguf", "n/tokenizer.json"],
            [("m/a.gguf", None), ("n/b.gguf", "n/tokenizer.json")],
            [],
        ),
        (
            ["a.gguf", "small/b.gguf", "tokenizer.json"],
            [("a.gguf", "tokenizer.json"), ("small/b.gguf", "tokenizer.json")],
            [],
        ),
    ],
)
def test_tokenizers_and_suites_are_found(tmp_path, files, models, suites):
    start = survey(make(tmp_path, *files))
    found = [(m.as_posix(), r and r.as_posix()) for m, r in start.models]
    assert (found, [path.as_posix() for path in start.suites]) == (models, suites)


def test_nothing_to_verify_is_an_error(tmp_path):
    with pytest.raises(TokverifyError, match="contains neither a GGUF file"):
        survey(make(tmp_path, "readme.md"))


def test_files_that_git_ignores_are_left_out(tmp_path):
    make(tmp_path, "a.gguf", "big/b.gguf")
    (tmp_path / ".gitignore").write_text("big/\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S607 - the git on the path
    assert [model.as_posix() for model, _ in survey(tmp_path).models] == ["a.gguf"]


def test_models_with_the_same_name_get_different_names(tmp_path):
    start = survey(make(tmp_path, "x/a.gguf", "y/a.gguf", 'z/odd "name".gguf'))
    (tmp_path / "tokverify.toml").write_text(render_configuration(start))
    configuration = read_configuration(tmp_path / "tokverify.toml")
    assert [model.name for model in configuration.models] == ["x-a", "y-a", "z-odd-name-"]


def test_init_writes_what_run_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("sample.gguf", "sample.tokenizer.model"):
        shutil.copy(SAMPLE / name, tmp_path / name)
    result = CliRunner().invoke(main, ["init"])
    assert result.exit_code == 0, result.output
    assert "sample.gguf against sample.tokenizer.model" in result.stdout
    workflow = yaml.safe_load((tmp_path / ".github/workflows/tokverify.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    again = CliRunner().invoke(main, ["init"])
    assert again.exit_code == 2
    assert "already exist" in again.stderr
    assert CliRunner().invoke(main, ["init", "--force"]).exit_code == 0
    assert CliRunner().invoke(main, ["init", "absent"]).exit_code == 2


def test_models_in_lfs_are_fetched_by_the_workflow(tmp_path):
    (tmp_path / "a.gguf").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    result = CliRunner().invoke(main, ["init", str(tmp_path)])
    assert result.exit_code == 0, result.output
    steps = yaml.safe_load((tmp_path / ".github/workflows/tokverify.yml").read_text())["jobs"]["tokverify"]["steps"]
    assert steps[0]["with"] == {"persist-credentials": False, "lfs": True}


@pytest.mark.parametrize(
    ("suite", "cases", "reason"),
    [
        ("cases:\n- {id: a, text: a}\n", ["shipped", "own"], ""),
        ("suite: seed\ncases:\n- {id: a, text: a}\n", ["own"], "suites of both have the same names"),
        ("cases:\n- {id: a, text: a, expect: {a: [1]}}\n", ["own"], "every case has its own `expect`"),
        ("cases:\n- {id: a}\n", ["shipped", "own"], ""),
    ],
)
def test_own_suites_are_combined_with_the_shipped_ones_if_possible(tmp_path, suite, cases, reason):
    make(tmp_path, "a.gguf", "own/own.yaml")
    (tmp_path / "own" / "own.yaml").write_text(suite)
    result = CliRunner().invoke(main, ["init", str(tmp_path)])
    assert result.exit_code == 0, result.output
    [model] = tomllib.loads((tmp_path / "tokverify.toml").read_text())["models"]
    assert model["cases"] == cases
    line = "cases: those that come with tokverify, and those in own" if not reason else "cases: those in own; those"
    assert line in result.stdout
    assert reason in result.stdout


def test_a_directory_named_shipped_is_written_as_a_path(tmp_path):
    make(tmp_path, "a.gguf", "shipped/own.yaml")
    start = survey(tmp_path)
    assert "exists as well" in start.left_out
    (tmp_path / "tokverify.toml").write_text(render_configuration(start))
    [model] = read_configuration(tmp_path / "tokverify.toml").models
    assert [Path(source).name for source in model.cases] == ["shipped"]
    assert isinstance(model.cases[0], Path)


def test_hostile_names_are_quoted(tmp_path):
    names = ["-dash.gguf", "sp: a'ce.gguf", 'n\nl\x7f\x1b".gguf', "日本.gguf"]
    start = survey(make(tmp_path, *names))
    (tmp_path / "tokverify.toml").write_text(render_configuration(start))
    configuration = read_configuration(tmp_path / "tokverify.toml")
    assert {Path(model.model).name for model in configuration.models} == set(names)


def test_a_name_that_is_not_utf_8_is_an_error(tmp_path):
    try:
        (tmp_path / os.fsdecode(b"b\xff.gguf")).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system has no such names")
    with pytest.raises(TokverifyError, match="not UTF-8"):
        survey(tmp_path)


def test_links_pipes_and_many_other_files_are_ignored(tmp_path, monkeypatch):
    make(tmp_path, "a.gguf", "deep/er/b.gguf", *(f"other/{number}.txt" for number in range(50)))
    (tmp_path / "deep" / "loop").symlink_to(tmp_path)
    (tmp_path / "self.gguf").symlink_to("self.gguf")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert [model.as_posix() for model, _ in survey(tmp_path).models] == ["a.gguf", "deep/er/b.gguf"]
    monkeypatch.setattr("tokverify.commands.project.start._MAX_FILES", 20)
    with pytest.raises(TokverifyError, match="more than 20 files"):
        survey(tmp_path)


def in_git(directory: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *arguments]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)


def steps_of_workflow(directory: Path) -> list[dict]:
    return yaml.safe_load((directory / ".github/workflows/tokverify.yml").read_text())["jobs"]["tokverify"]["steps"]


def test_models_that_git_lfs_has_fetched_are_fetched_by_the_workflow_too(tmp_path):
    make(tmp_path, "a dir/日本.gguf")
    (tmp_path / ".gitattributes").write_text("*.gguf filter=lfs\n")
    in_git(tmp_path, "init", "-q")
    assert CliRunner().invoke(main, ["init", str(tmp_path)]).exit_code == 0
    assert steps_of_workflow(tmp_path)[0]["with"] == {"persist-credentials": False, "lfs": True}


def test_the_workflow_of_a_subdirectory_is_where_github_looks(tmp_path, monkeypatch):
    make(tmp_path, "b.gguf", "a dir/日本/a.gguf")
    in_git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path / "a dir" / "日本")
    result = CliRunner().invoke(main, ["init"])
    assert "wrote tokverify.toml and ../../.github/workflows/tokverify.yml;" in result.stdout
    assert steps_of_workflow(tmp_path)[-1]["working-directory"] == "a dir/日本"
    assert [Path(model.model).name for model in read_configuration(Path("tokverify.toml")).models] == ["a.gguf"]
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["init", "a dir/日本", "--force"])
    assert "wrote a dir/日本/tokverify.toml and .github/workflows/tokverify.yml; next, run " in result.stdout


def test_the_path_of_a_directory_behind_a_link_is_kept(tmp_path, monkeypatch):
    make(tmp_path / "real" / "below", "a.gguf")
    in_git(tmp_path / "real", "init", "-q")
    (tmp_path / "link").symlink_to("real/below")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["init", "link"])
    assert (
        "wrote link/tokverify.toml and link/../.github/workflows/tokverify.yml; next, run `tokverify check` in link"
        in result.stdout
    )


def test_a_model_in_a_submodule_is_fetched_by_the_workflow(tmp_path):
    (tmp_path / "super").mkdir()
    for directory in (make(tmp_path / "sub", "model.gguf"), tmp_path / "super"):
        in_git(directory, "init", "-q")
        in_git(directory, "add", ".")
        in_git(directory, "commit", "-q", "--allow-empty", "-m", "a")
    in_git(tmp_path / "super", "submodule", "add", "-q", str(tmp_path / "sub"), "my sub")
    start = survey(tmp_path / "super")
    assert [model.as_posix() for model, _ in start.models] == ["my sub/model.gguf"]
    assert start.uses_submodules
    assert not survey(tmp_path / "super" / "my sub").uses_submodules


def test_a_directory_whose_name_is_not_utf_8_is_an_error(tmp_path):
    directory = tmp_path / os.fsdecode(b"b\xff")
    try:
        make(directory, "a.gguf")
    except OSError:
        pytest.skip("this file system has no such names")
    in_git(tmp_path, "init", "-q")
    with pytest.raises(TokverifyError, match="not UTF-8, so neither TOML nor YAML can contain it"):
        survey(directory)
