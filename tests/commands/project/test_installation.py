"""The command that installs this tokverify elsewhere, by how it was installed here."""

import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

import pytest

from support.paths import ROOT
from tokverify.commands.project import installation
from tokverify.commands.project.installation import Installation, plan_installation, requirement
from tokverify.version import __version__

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        ({}, f"tokverify=={__version__}"),
        (
            {"url": "https://example.com/t.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"tokverify @ git+https://example.com/t.git@{COMMIT}",
        ),
        (
            {"url": "https://example.com/t.whl", "archive_info": {"hash": "sha256=ab"}},
            "tokverify @ https://example.com/t.whl#sha256=ab",
        ),
        ({"url": "https://example.com/t.whl", "archive_info": {}}, "tokverify @ https://example.com/t.whl"),
        ({"url": "file:///elsewhere/my%20wheels/t.whl", "archive_info": {}}, Path("/elsewhere/my wheels/t.whl")),
        ({"url": "file:///elsewhere/checkout", "dir_info": {"editable": True}}, Path("/elsewhere/checkout")),
    ],
)
def test_the_requirement_follows_from_where_it_was_installed(tmp_path, direct_url, expected):
    assert requirement(direct_url, tmp_path) == expected


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        ({}, "docs/index.md in the repository of tokverify"),
        (
            {"url": "https://example.com/t.git", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"https://example.com/t/blob/{COMMIT}/docs/index.md",
        ),
        ({"url": ROOT.as_uri(), "dir_info": {}}, (ROOT / "docs/index.md").as_uri()),
        ({"url": "file:///gone", "dir_info": {}}, "docs/index.md in the repository of tokverify"),
    ],
)
def test_the_address_of_the_documentation_follows_from_it_as_well(monkeypatch, direct_url, expected):
    monkeypatch.setattr(installation, "read_direct_url", lambda: direct_url)
    assert installation.documentation() == expected


def test_a_path_inside_the_repository_is_relative(tmp_path):
    wheel = tmp_path / "wheels" / "t.whl"
    assert requirement({"url": wheel.as_uri(), "archive_info": {}}, tmp_path) == "./wheels/t.whl"
    assert requirement({"url": tmp_path.as_uri(), "dir_info": {}}, tmp_path) == "."


def test_what_only_this_machine_has_is_built_into_a_wheel(monkeypatch, tmp_path):
    place = "/elsewhere/my checkout"
    monkeypatch.setattr(installation, "read_direct_url", lambda: {"url": f"file://{place}", "dir_info": {}})
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    command, preparation, [note] = plan_installation(tmp_path)
    assert command == "pip install wheels/tokverify-*.whl"
    assert shlex.split(preparation) == ["pip", "wheel", "--no-deps", "-w", "../wheels", place]
    assert f"only machines like this one ({sysconfig.get_platform()})" in note
    assert "TOKVERIFY_BUILD=python" in note


@pytest.mark.parametrize(
    ("platform", "notes"),
    [
        ("any", ()),
        (
            "macosx_11_0_arm64",
            ("the wheel fits only machines of the kind macosx_11_0_arm64; the workflow runs on Linux for x86-64",),
        ),
    ],
)
def test_a_wheel_that_is_copied_may_fit_only_one_kind_of_machine(monkeypatch, tmp_path, platform, notes):
    url = f"file:///elsewhere/tokverify-0.1.0-cp311-abi3-{platform}.whl"
    monkeypatch.setattr(installation, "read_direct_url", lambda: {"url": url, "archive_info": {}})
    assert plan_installation(tmp_path).notes == notes


def test_other_wheels_that_the_workflow_would_install_are_named(monkeypatch, tmp_path):
    new, old = "tokverify-0.2.0-py3-none-any.whl", "tokverify-0.1.0-py3-none-any.whl"
    monkeypatch.setattr(installation, "read_direct_url", lambda: {"url": f"file:///elsewhere/{new}"})
    (tmp_path / "wheels").mkdir()
    for name in (new, old, "other-1-py3-none-any.whl"):
        (tmp_path / "wheels" / name).touch()
    [note] = plan_installation(tmp_path).notes
    assert note.startswith(f"wheels/ already contains {old}; keep only one wheel")


def test_a_repository_on_another_drive_is_named_by_its_whole_path(monkeypatch, tmp_path):
    def fail(_path, _start):
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    monkeypatch.setattr(os.path, "relpath", fail)
    monkeypatch.setattr(installation, "read_direct_url", lambda: {"url": "file:///elsewhere/checkout"})
    assert str(tmp_path / "wheels") in shlex.split(plan_installation(tmp_path).preparation)


def test_a_checkout_with_a_remote_is_installed_from_there(monkeypatch, tmp_path):
    checkout, root = tmp_path / "checkout", tmp_path / "repository"
    for directory in (checkout, root):
        directory.mkdir()

    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *arguments]
        return subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    direct_url = {"url": checkout.as_uri(), "dir_info": {}}
    assert requirement(direct_url, root) == checkout
    git("remote", "add", "origin", "https://example.com/t.git")
    commit = git("rev-parse", "HEAD")
    assert requirement(direct_url, root) == f"tokverify @ git+https://example.com/t.git@{commit}"
    # Installed by `pip install git+file://...`.
    by_git = direct_url | {"vcs_info": {"vcs": "git", "commit_id": commit}}
    git("commit", "-q", "--allow-empty", "-m", "second")
    assert requirement(by_git, root) == f"tokverify @ git+https://example.com/t.git@{commit}"

    monkeypatch.setattr(installation, "read_direct_url", lambda: direct_url)
    [note] = plan_installation(root).notes
    assert "on no branch of its remote" in note
    assert note.endswith("push it before the workflow runs")
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert plan_installation(root).notes == ()

    (checkout / "untracked").touch()
    assert plan_installation(root).notes == ()
    (checkout / "module.py").touch()
    git("add", "module.py")
    [note] = plan_installation(root).notes
    assert note.startswith(f"1 file in {checkout} has changes that are not committed")
    monkeypatch.setattr(installation, "read_direct_url", lambda: by_git)
    assert plan_installation(root).notes == ()


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"url": 1}'])
def test_without_a_usable_record_the_index_is_named(monkeypatch, tmp_path: Path, text):
    class Distribution:
        def read_text(self, name):
            return text if name == "direct_url.json" else None

    monkeypatch.setattr(installation, "distribution", lambda _: Distribution())
    assert plan_installation(tmp_path) == Installation(f"pip install tokverify=={__version__}")
