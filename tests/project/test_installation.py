"""The command that installs this tokverify elsewhere, by how it was installed here."""

import shlex
import subprocess
from pathlib import Path

import pytest

from support.paths import ROOT
from tokverify.project import installation
from tokverify.project.installation import Installation, plan_installation, requirement
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
    command, preparation = plan_installation(tmp_path)
    assert command == "pip install wheels/tokverify-*.whl"
    assert shlex.split(preparation) == ["pip", "wheel", "--no-deps", "-w", "../wheels", place]


def test_a_checkout_with_a_remote_is_installed_from_there(tmp_path):
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


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"url": 1}'])
def test_without_a_usable_record_the_index_is_named(monkeypatch, tmp_path: Path, text):
    class Distribution:
        def read_text(self, name):
            return text if name == "direct_url.json" else None

    monkeypatch.setattr(installation, "distribution", lambda _: Distribution())
    assert plan_installation(tmp_path) == Installation(f"pip install tokverify=={__version__}")
