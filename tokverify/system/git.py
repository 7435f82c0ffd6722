"""Run the user's git, and recognize the directories that belong to it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import BinaryIO

from tokverify.errors import TokverifyError

_SECONDS = 300
# All that file systems take for `.git`: they may ignore case, what NTFS drops at the end, and what HFS+ skips.
_DOT_GIT = re.compile(r"(?:\.git|git~1)[ .]*(?::.*)?", re.IGNORECASE | re.DOTALL)
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def find_git_directory(path: Path) -> Path | None:
    """Return the directory of git, or the file `.git`, that a path is or leads into; None if there is none.

    A directory may be one by its name, in any spelling and through any link, or by its content, as those of bare
    repositories and of `git init --separate-git-dir` are. The path need not exist.
    """
    for whole in (Path(os.path.abspath(path)), Path(os.path.realpath(path))):  # noqa: PTH100 - links are not followed
        in_work_tree = False
        for place in (whole, *whole.parents):
            # A work tree may lie inside the bare repository that it belongs to.
            in_work_tree = in_work_tree or (place / ".git").exists()
            if _DOT_GIT.fullmatch(_IGNORED.sub("", place.name)) or (not in_work_tree and _looks_like_repository(place)):
                return place
    return None


def _looks_like_repository(directory: Path) -> bool:
    """Whether a directory contains what git itself looks for; that of a worktree has `commondir` instead."""
    if not (directory / "HEAD").is_file():
        return False
    return (directory / "commondir").is_file() or all((directory / name).is_dir() for name in ("objects", "refs"))


def git(
    *arguments: str,
    directory: Path | None = None,
    input: bytes = b"",
    stdout: int | BinaryIO = subprocess.PIPE,
    seconds: int = _SECONDS,
    env: Mapping[str, str] | None = None,
) -> CompletedProcess[bytes]:
    """Run git without password prompts. If git is not installed, the result is a failure with empty output.

    Raises:
        TokverifyError: If it takes longer than `seconds`.
    """
    try:
        return subprocess.run(  # noqa: S603 - no shell is involved
            ["git", *arguments],  # noqa: S607 - the user's own git
            cwd=directory,
            input=input,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", **(env or {})},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TokverifyError(f"git {' '.join(arguments)}: no response within {seconds:,} s; run it yourself") from error
    except (OSError, ValueError):
        return CompletedProcess(arguments, 1, b"", b"")
