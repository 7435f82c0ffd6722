"""What CI systems need: the root of the repository as they see it, and logs in which they execute nothing.

The runner of GitHub Actions searches every line of a log for commands: `::name::` at the start of a line or after
leading whitespace, and `##[name]` anywhere (see `ActionCommand` in the runner's source). Tokens and files can contain
such text. It is changed as little as possible, in a way that JSON decodes to the original. The alternative,
`::stop-commands::`, would add lines to output that may be piped to another program.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_CHECKOUT_VARIABLES = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
_MAX_GIT_FILE_BYTES = 4096
_FIRST_COLON = re.compile(r"((?:^|[\r\n])[^\S\r\n]*):(?=:)")


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


def escape_for_log(text: str) -> str:
    """Escape commands in a text if it is written to the log of a GitHub Actions job."""
    return escape_commands(text) if os.environ.get("GITHUB_ACTIONS") == "true" else text


def escape_commands(text: str) -> str:
    """Escape one character of everything that the runner would execute as a command."""
    return _FIRST_COLON.sub(r"\1\\u003a", text).replace("##[", r"#\u0023[")
