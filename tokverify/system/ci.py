"""Find the root of the repository as a CI system sees it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_CHECKOUT_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
_MAX_GIT_FILE_BYTES = 4096


def repository_root() -> str:
    """Return the root of the repository of the current directory; empty if there is none.

    Git determines the root. In a checkout made without git, GitHub and GitLab do.
    """
    # If the directory is gone, or one above it is not readable, the command can still run.
    with suppress(OSError):
        here = Path.cwd()
        candidates = (here, *here.parents)
        for directory in candidates:
            git = directory / ".git"
            if git.exists() and not _is_submodule(git):
                return str(directory)
        checkouts = {os.environ[name] for name in _CHECKOUT_VARIABLES if name in os.environ}
        return next((str(directory) for directory in candidates if str(directory) in checkouts), "")
    return ""


def _is_submodule(git: Path) -> bool:
    """Check whether a `.git` belongs to a submodule, since a CI system knows only the repository above it."""
    # subtle: a worktree has such a file too, but is a separate repository.
    if not git.is_file():
        return False
    with git.open("rb") as file:
        target = file.read(_MAX_GIT_FILE_BYTES).removeprefix(b"gitdir: ").split(b"/")
    return target[0] == b".." and b"modules" in target and b"worktrees" not in target
