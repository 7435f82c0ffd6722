"""Find the command that installs this tokverify somewhere else, from how it was installed here.

Source: PEP 610, `direct_url.json`, which pip and other installers write unless a package comes from an index.
"""

from __future__ import annotations

import json
import os
import shlex
import sysconfig
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tokverify.system.git import git
from tokverify.system.input_file import relative_path
from tokverify.text.wording import plural
from tokverify.version import __version__

_NAME = "tokverify"
_DOCUMENTATION = "docs/index.md"
_WHEELS = "wheels"


class Installation(NamedTuple):
    """How to install this tokverify in a checkout of a repository, on another machine."""

    command: str
    """The command, for the root of the repository."""
    preparation: str = ""
    """The command that first puts what is installed into the repository; empty if it can be reached without that."""
    notes: tuple[str, ...] = ()
    """Sentences on why the command could fail on another machine."""


def plan_installation(root: Path) -> Installation:
    """Find out how to install tokverify on another machine, in a checkout of the repository at `root`.

    - From version control: the same address and commit.
    - From a file or directory inside the repository: its relative path.
    - From another directory that is a git checkout with a remote: the remote's address and the commit.
    - From any other file or directory: a wheel that is to be built from it and added to the repository.
    - From an index: this version.
    """
    direct_url = read_direct_url()
    found = requirement(direct_url, root)
    if isinstance(found, Path):
        return _plan_wheel(found, root)
    checkout = _local_path(direct_url)
    notes: list[str] = []
    if checkout and "git+" in found:
        notes += _check_pushed(checkout, _commit(direct_url))
        # A recorded commit is installed as it is; otherwise, the directory was, with all its changes.
        notes += [] if "vcs_info" in direct_url else _check_committed(checkout)
    return Installation(shlex.join(["pip", "install", found]), notes=tuple(notes))


def _plan_wheel(source: Path, root: Path) -> Installation:
    """Plan to build or copy a wheel into the repository."""
    notes = [*_check_platform(source), *_check_other_wheels(root / _WHEELS, source)]
    return Installation(
        f"pip install {_WHEELS}/{_NAME}-*.whl",
        shlex.join(["pip", "wheel", "--no-deps", "-w", relative_path(root / _WHEELS), str(source)]),
        tuple(notes),
    )


def _check_platform(source: Path) -> Iterator[str]:
    """Note that a wheel may fit only machines of one kind; the workflow runs on Linux."""
    if source.suffix == ".whl":
        platform = source.stem.rpartition("-")[2]
        if platform != "any":
            yield f"the wheel fits only machines of the kind {platform}; the workflow runs on Linux for x86-64"
    else:
        yield (
            f"a wheel with the native engine fits only machines like this one ({sysconfig.get_platform()}), and the"
            " workflow runs on Linux for x86-64; with TOKVERIFY_BUILD=python in the environment, pip builds a wheel"
            " without that engine, which is slower but fits all machines"
        )


def _check_other_wheels(directory: Path, source: Path) -> Iterator[str]:
    """Note that the workflow would install other wheels, too."""
    others = sorted(path.name for path in directory.glob(f"{_NAME}-*.whl") if path.name != source.name)
    if others:
        yield (
            f"{_WHEELS}/ already contains {', '.join(others)}; keep only one wheel of {_NAME} there, because the"
            " workflow installs all of them"
        )


def _check_pushed(checkout: Path, commit: str) -> Iterator[str]:
    """Note that a commit is on no branch of the remote, as far as the checkout knows."""
    if not _ask(checkout, "for-each-ref", "--count=1", "--contains", commit, "refs/remotes/origin"):
        short = _ask(checkout, "rev-parse", "--short", commit)
        yield (
            f"the workflow installs commit {short} of {checkout}, which is on no branch of its remote as far as that"
            " checkout knows; push it before the workflow runs"
        )


def _check_committed(checkout: Path) -> Iterator[str]:
    """Note that the checkout contains changes of tracked files that are in no commit."""
    changed = _ask(checkout, "status", "--porcelain", "--untracked-files=no").splitlines()
    if changed:
        verb = "has" if len(changed) == 1 else "have"
        yield (
            f"{plural(len(changed), 'file')} in {checkout} {verb} changes that are not committed, so the workflow"
            " installs tokverify without them; commit and push them, then run init again with --force"
        )


def documentation() -> str:
    """Return the address of the documentation of this version, from how it was installed."""
    direct_url = read_direct_url()
    url, commit = direct_url.get("url", ""), direct_url.get("vcs_info", {}).get("commit_id")
    if commit and urlsplit(url).scheme == "https":
        return f"{url.removesuffix('.git')}/blob/{commit}/{_DOCUMENTATION}"
    place = _local_path(direct_url)
    if place and (place / _DOCUMENTATION).is_file():
        return (place / _DOCUMENTATION).as_uri()
    return f"{_DOCUMENTATION} in the repository of tokverify"


def read_direct_url() -> Mapping[str, Any]:
    """Return where tokverify was installed from; empty if that was an index, or is not recorded."""
    try:
        text = distribution(_NAME).read_text("direct_url.json")
        found = json.loads(text) if text else {}
    except (PackageNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("url"), str) else {}


def requirement(direct_url: Mapping[str, Any], root: Path) -> str | Path:
    """Return what to give to `pip install`; a path if only this machine has it."""
    if not direct_url:
        return f"{_NAME}=={__version__}"
    url = direct_url["url"]
    if path := _local_path(direct_url):
        return _from_path(path, root, _commit(direct_url))
    if vcs := direct_url.get("vcs_info"):
        return f"{_NAME} @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
    digest = direct_url.get("archive_info", {}).get("hash", "")
    return f"{_NAME} @ {url}" + (f"#{digest}" if digest else "")


def _local_path(direct_url: Mapping[str, Any]) -> Path | None:
    """Return the file or directory on this machine that it was installed from; None if it was another place."""
    parts = urlsplit(direct_url.get("url", ""))
    if parts.scheme != "file":
        return None
    if os.name == "nt":
        # This takes long to import.
        from urllib.request import url2pathname

        return Path(url2pathname(parts.path))
    return Path(unquote(parts.path))


def _commit(direct_url: Mapping[str, Any]) -> str:
    """Return the commit that was installed; that of the work tree if none is recorded."""
    return str(direct_url.get("vcs_info", {}).get("commit_id", "HEAD"))


def _from_path(path: Path, root: Path, commit: str) -> str | Path:
    """Return the requirement for a local file or directory, or else its path."""
    if path.resolve().is_relative_to(root.resolve()):
        return f"./{path.resolve().relative_to(root.resolve()).as_posix()}".removesuffix("/.")
    if path.is_dir() and (published := _published_commit(path, commit)):
        return f"{_NAME} @ git+{published}"
    return path


def _published_commit(directory: Path, commit: str) -> str | None:
    """Return the address and a commit of a checkout; None if it is none, or has no remote that others could reach."""
    remote = _ask(directory, "config", "--get", "remote.origin.url")
    full = _ask(directory, "rev-parse", commit)
    if not full or not remote or urlsplit(remote).scheme not in {"https", "http", "ssh", "git"}:
        return None
    return f"{remote}@{full}"


def _ask(directory: Path, *arguments: str) -> str:
    done = git(*arguments, directory=directory)
    return "" if done.returncode else done.stdout.decode(errors="replace").strip()
