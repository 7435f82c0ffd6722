"""Find the command that installs this tokverify somewhere else, from how it was installed here.

Source: PEP 610, `direct_url.json`, which pip and other installers write unless a package comes from an index.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from tokverify.system.git import git
from tokverify.version import __version__

_NAME = "tokverify"
_DOCUMENTATION = "docs/index.md"


def install_command(root: Path) -> str:
    """Return the command that installs tokverify on another machine, in a checkout of the repository at `root`.

    - From version control: the same address and commit.
    - From a file or directory inside the repository: its relative path.
    - From another directory that is a git checkout with a remote: the remote's address and the commit.
    - From any other file or directory: its path, which the other machine must have.
    - From an index: this version.
    """
    return shlex.join(["pip", "install", requirement(read_direct_url(), root)])


def documentation() -> str:
    """Return the address of the documentation of this version, from how it was installed."""
    direct_url = read_direct_url()
    url, commit = direct_url.get("url", ""), direct_url.get("vcs_info", {}).get("commit_id")
    if commit and urlsplit(url).scheme == "https":
        return f"{url.removesuffix('.git')}/blob/{commit}/{_DOCUMENTATION}"
    page = Path(url2pathname(unquote(urlsplit(url).path))) / _DOCUMENTATION
    if urlsplit(url).scheme == "file" and page.is_file():
        return page.as_uri()
    return f"{_DOCUMENTATION} in the repository of tokverify"


def read_direct_url() -> Mapping[str, Any]:
    """Return where tokverify was installed from; empty if that was an index, or is not recorded."""
    try:
        text = distribution(_NAME).read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def requirement(direct_url: Mapping[str, Any], root: Path) -> str:
    """Return what to give to `pip install`."""
    if not direct_url:
        return f"{_NAME}=={__version__}"
    url = direct_url["url"]
    if vcs := direct_url.get("vcs_info"):
        return f"{_NAME} @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
    if urlsplit(url).scheme != "file":
        digest = direct_url.get("archive_info", {}).get("hash", "")
        return f"{_NAME} @ {url}" + (f"#{digest}" if digest else "")
    return _from_path(Path(url2pathname(unquote(urlsplit(url).path))), root)


def _from_path(path: Path, root: Path) -> str:
    """Return the requirement for a local file or directory."""
    if path.resolve().is_relative_to(root.resolve()):
        return f"./{path.resolve().relative_to(root.resolve()).as_posix()}".removesuffix("/.")
    if path.is_dir() and (published := _published_commit(path)):
        return f"{_NAME} @ git+{published}"
    return str(path)


def _published_commit(directory: Path) -> str | None:
    """Return the address and commit of a checkout; None if it is none, or has no remote that others could reach."""
    remote = _ask(directory, "config", "--get", "remote.origin.url")
    commit = _ask(directory, "rev-parse", "HEAD")
    if not commit or not remote or urlsplit(remote).scheme not in {"https", "http", "ssh", "git"}:
        return None
    return f"{remote}@{commit}"


def _ask(directory: Path, *arguments: str) -> str:
    done = git(*arguments, directory=directory)
    return "" if done.returncode else done.stdout.decode(errors="replace").strip()
