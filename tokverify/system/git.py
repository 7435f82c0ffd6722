"""Run the user's git."""

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
    """Run git without password prompts. If git is not installed, the result is a failure with empty output.

    Args:
        arguments: The git command and its arguments.
        directory: The directory to run it in, by default the current one.
        input: What it reads from stdin.
        stdout: Where its output goes, by default into the result.
        seconds: The timeout.
        env: Additional environment variables.

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
