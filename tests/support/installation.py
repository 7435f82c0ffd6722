"""Install what some tests need, where that is possible."""

import os
import shlex
import shutil
import subprocess

import pytest


def install(command: list[str], seconds: float, **variables: str) -> None:
    """Run a package manager; skip the test if it is missing, or the packages cannot be downloaded."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, check=False, timeout=seconds, env=environment)
    if done.returncode:
        pytest.skip(f"{shlex.join(command)} failed: {done.stderr.decode(errors='replace')[-300:]}")
