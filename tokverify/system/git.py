"""Run git, the user's own, to ask it something."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import BinaryIO

from tokverify.errors import TokverifyError

_SECONDS = 300


def git(
    *arguments: str,
    directory: Path | None = None,
    input: bytes = b"",
    stdout: int | BinaryIO = subprocess.PIPE,
    seconds: int = _SECONDS,
    env: Mapping[str, str] | None = None,
) -> CompletedProcess[bytes]:
    """Run git, which asks for no password; where there is none, it fails without a word.

    Args:
        arguments: Its command, and what follows.
        directory: Where to run it, if not here.
        input: What it gets to read.
        stdout: Where what it writes goes, if not into the result.
        seconds: How long it may take.
        env: Variables to add to the environment.

    Raises:
        TokverifyError: If it takes longer.
    """
    try:
        return subprocess.run(  # noqa: S603 - arguments are no shell's
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
        raise TokverifyError(f"git {' '.join(arguments)}: no answer in {seconds:,} s; try it yourself") from error
    except (OSError, ValueError):
        return CompletedProcess(arguments, 1, b"", b"")
