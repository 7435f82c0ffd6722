"""`REVISION:PATH` in repositories of all kinds, and files of Git LFS, by the real git and git-lfs."""

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from support.paths import SAMPLE
from support.repository import ODD, git
from support.selection import thinned
from tokverify.commands.cli import main


def diff(old: str, new: str):
    return CliRunner().invoke(main, ["diff", old, new, "-k", "seed/*", "-q"])


def error_of(old: str, new: str = "HEAD:model.gguf") -> str:
    """Return the error message, which is one line."""
    result = diff(old, new)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def assert_versions_differ(old: str = "HEAD~1:model.gguf", new: str = "HEAD:model.gguf") -> None:
    result = diff(old, new)
    assert (result.exit_code, result.stderr) == (1, "")
    assert "types: 30 changed" in result.stdout


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Return a function that clones a repository without its Git LFS files and changes to that directory."""

    def make(origin: Path, *options: str, name: str = "clone") -> Path:
        git("clone", "-q", *options, origin.as_uri(), str(tmp_path / name))
        monkeypatch.chdir(tmp_path / name)
        return tmp_path / name

    return make


# Repositories


@pytest.mark.parametrize("options", thinned(3, [[], ["--bare"], ["--no-checkout", "--filter=blob:none"]]))
def test_the_kind_of_clone_does_not_matter(versions, clone, options):
    clone(versions, *options)
    assert_versions_differ()
    assert_versions_differ(f"HEAD~1:{ODD}", f"HEAD:{ODD}")


@pytest.mark.parametrize("new", ["HEAD:model.gguf", "HEAD:../model.gguf", "../model.gguf"])
def test_changes_are_annotated_in_the_current_file(versions, clone, monkeypatch, new):
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    work = clone(versions)
    monkeypatch.chdir(work / "a dir")
    command = ["diff", "HEAD~1:model.gguf", new, "-k", "seed/*", "-f", "github"]
    lines = CliRunner().invoke(main, command).stdout.splitlines()
    assert lines[0].startswith("::error file=model.gguf,line=1,title=changed%3A types::")
    if new.startswith("HEAD"):
        (work / "model.gguf").unlink()
        lines = CliRunner().invoke(main, command).stdout.splitlines()
        assert lines[0].startswith("::error title=changed%3A types::")
        assert "in ../model.gguf, which is not a file in this repository%0A" in lines[0]


@pytest.mark.parametrize("location", ["localhost:8080", "http:/127.0.0.1:8080"])
def test_an_address_without_its_scheme_is_not_taken_for_a_revision(versions, clone, location):
    clone(versions)
    address = location.replace("http:/", "")
    assert error_of("HEAD:model.gguf", location) == (
        f"error: {location!r}: no such file or revision; the address of a server begins with http://: http://{address}\n"
    )


def test_a_path_can_be_relative_to_the_working_directory(versions, clone, monkeypatch):
    monkeypatch.chdir(clone(versions) / "a dir")
    assert_versions_differ("HEAD~1:./日本/mödel é.gguf", f"HEAD:{ODD}")
    assert_versions_differ("HEAD~1:../model.gguf")
    assert "../../model.gguf: no such file at HEAD" in error_of("HEAD:../../model.gguf")


@pytest.mark.parametrize("prefix", ["", "my."])
def test_further_chat_templates_belong_to_a_tokenizer(own_git, tmp_path, monkeypatch, prefix):
    work = tmp_path / "work"
    templates = work / "sub" / f"{prefix}additional_chat_templates"
    templates.mkdir(parents=True)
    shutil.copy(SAMPLE / "sample.tokenizer.json", work / "sub" / f"{prefix}tokenizer.json")
    monkeypatch.chdir(work)
    git("init", "-q")
    for text in ("old", "new"):
        (templates / "tool use é.jinja").write_text(text, "utf-8")
        git("add", "-A")
        git("commit", "-q", "-m", text)
    monkeypatch.chdir(work / "sub")
    result = diff(f"HEAD~1:./{prefix}tokenizer.json", f"HEAD:./{prefix}tokenizer.json")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "chat templates: 1 changed" in result.stdout


def test_a_name_that_looks_like_git_output_is_not_a_file(versions, clone):
    clone(versions)
    assert "HEAD:a blob 1: no such file at HEAD" in error_of("HEAD:a blob 1")
    assert "HEAD:a blob: no such file at HEAD" in error_of("HEAD:a blob")


def test_a_revision_missing_from_a_shallow_clone_is_explained(versions, clone):
    clone(versions, "--depth", "1")
    assert "git finds no revision 'HEAD~1' here; check both, and fetch the history" in error_of("HEAD~1:model.gguf")


@pytest.mark.parametrize("name", ["^HEAD", "HEAD~9", "HEAD..HEAD"])
def test_git_syntax_that_is_not_a_revision_is_refused(versions, clone, name):
    clone(versions)
    assert f"git finds no revision '{name}' here" in error_of(f"{name}:model.gguf")


@pytest.mark.parametrize("name", ["--upload-pack=x", "-x", "--output=made"])
def test_a_revision_that_looks_like_an_option_is_not_passed_as_one(versions, clone, name):
    here = clone(versions)
    before = sorted(here.iterdir())
    result = CliRunner().invoke(main, ["diff", "-q", "--", f"{name}:model.gguf", "HEAD:model.gguf"])
    assert result.exit_code == 2
    assert "no such file or directory" in result.stderr
    assert sorted(here.iterdir()) == before


def test_a_worktree_has_the_same_revisions(versions, clone, tmp_path, monkeypatch):
    clone(versions)
    git("worktree", "add", "-q", str(tmp_path / "work tree"), "HEAD")
    monkeypatch.chdir(tmp_path / "work tree")
    assert_versions_differ()


def test_a_submodule_has_revisions_of_its_own(versions, tmp_path, monkeypatch):
    git("init", "-q", str(tmp_path / "super"))
    monkeypatch.chdir(tmp_path / "super")
    git("submodule", "add", "-q", versions.as_uri(), "my sub")
    git("commit", "-qm", "a submodule")
    assert "no such file at HEAD; check the path, which is relative to the root" in error_of("HEAD:my sub/model.gguf")
    monkeypatch.chdir("my sub")
    assert_versions_differ()


def test_outside_a_repository_a_revision_is_an_error(own_git, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "no such file, and git finds no revision here: not a git repository" in error_of("HEAD:model.gguf")


def test_without_git_a_revision_is_an_error(versions, clone, monkeypatch):
    clone(versions)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "git is not installed, so 'HEAD' cannot be a revision; check the path, or install git" in error_of(
        "HEAD:model.gguf"
    )


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_repository_that_git_distrusts_is_explained(versions, clone):
    place = clone(versions)
    for path in (place, place / ".git"):
        os.chown(path, 4321, 4321)
    assert "detected dubious ownership" in error_of("HEAD:model.gguf")
    assert "safe.directory" in error_of("HEAD:model.gguf")


# Git LFS


@pytest.mark.parametrize("options", thinned(2, [[], ["--bare"]]))
def test_git_lfs_files_are_fetched_whatever_a_checkout_does(lfs_versions, clone, options, monkeypatch):
    place = clone(lfs_versions, *options)
    git("config", "lfs.fetchexclude", "*")
    monkeypatch.setenv("GIT_LFS_SKIP_SMUDGE", "1")
    assert options or (place / "model.gguf").stat().st_size < 1024
    assert_versions_differ()
    assert_versions_differ(f"HEAD~1:{ODD}", f"HEAD:{ODD}")


@pytest.mark.slow
def test_files_of_git_lfs_are_written_by_its_filter_too(lfs_versions, clone):
    clone(lfs_versions)
    git("lfs", "install", "--local")
    assert_versions_differ()


def test_files_that_git_lfs_has_fetched_need_no_network(lfs_versions, clone):
    clone(lfs_versions)
    git("lfs", "fetch", "--all")
    lfs_versions.rename(lfs_versions.with_name("gone.git"))
    assert_versions_differ()


def test_a_file_missing_from_git_lfs_is_an_error(lfs_versions, clone):
    clone(lfs_versions)
    shutil.rmtree(lfs_versions / "lfs")
    complaint = error_of("HEAD:model.gguf", "model.gguf")
    assert complaint.startswith("error: HEAD:model.gguf: Git LFS cannot fetch it: ")
    assert "missing object" in complaint


def test_without_git_lfs_the_error_names_it(lfs_versions, clone, tmp_path, monkeypatch):
    clone(lfs_versions)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert error_of("HEAD:model.gguf") == (
        "error: HEAD:model.gguf: is in Git LFS, which requires git-lfs; install it\n"
    )


def test_a_lost_file_next_to_the_model_is_not_skipped_silently(lfs_versions, clone):
    clone(lfs_versions)
    git("lfs", "install", "--local")
    git("lfs", "track", "*.json")
    shutil.copy("tokenizer.model", "x.tokenizer.model")
    Path("x.tokenizer_config.json").write_text("{}")
    git("add", ".")
    git("commit", "-qm", "more")
    shutil.rmtree(".git/lfs/objects")
    assert "HEAD:x.tokenizer_config.json: Git LFS cannot fetch it" in error_of("HEAD:x.tokenizer.model")


def test_a_model_that_is_not_fetched_is_reported(lfs_versions, clone):
    clone(lfs_versions)
    Path("words.txt").write_text("words")
    commands = ("run", "run --no-reference", "encode x", "inspect", "inspect --texts words.txt", "explain x", "fuzz")
    for command in (*commands, "chat", "fix -o fixed.gguf"):
        name, *more = command.split()
        result = CliRunner().invoke(main, [name, "model.gguf", *more])
        assert result.exit_code == 2, result.output
        assert result.stderr == (
            "error: model.gguf: not a GGUF file; it looks like a Git LFS pointer;"
            " fetch the file itself with `git lfs pull`\n"
        ), command
