"""Find out which peers are installed, each in the Python environment of its own interpreter."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGES: Mapping[str, tuple[str, str]] = {
    "tokenizers": ("tokenizers", "0."),
    "tokenizers-1": ("tokenizers", "1."),
    "quicktok": ("quicktok-v1", ""),
    "splintr": ("splintr-rs", ""),
    "llama.cpp": ("xllamacpp", ""),
}
"""The package of each peer with another name than its package, and how its version starts."""


def peer_and_interpreter(option: str) -> tuple[str, str]:
    """Parse `PEER=PATH`, where the path is that of a Python interpreter.

    Raises:
        ArgumentTypeError: If there is no such file.
    """
    peer, _, path = option.partition("=")
    if not Path(path).is_file():
        raise ArgumentTypeError(f"not PEER=PATH with the path of a Python interpreter: {option!r}")
    return peer, path


def find_versions(interpreters: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of the peers, without those that are not installed, which stderr names."""
    versions = {}
    for peer, python in interpreters.items():
        version = installed_version(peer, python)
        if version is None:
            print(f"{peer} is left out: {requirement(peer)} is not installed for {python}", file=sys.stderr)
        else:
            versions[peer] = version
    return versions


def installed_version(peer: str, python: str) -> str | None:
    package, start = PACKAGES.get(peer, (peer, ""))
    program = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
    done = subprocess.run([python, "-c", program, package], capture_output=True, text=True, check=False)
    version = done.stdout.strip()
    return version if done.returncode == 0 and version.startswith(start) else None


def requirement(peer: str) -> str:
    """Return what must be installed for a peer, in words."""
    package, start = PACKAGES.get(peer, (peer, ""))
    return f"{package} {start}x" if start else package
