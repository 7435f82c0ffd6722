"""The tokenizers and suites in a repository that `tokverify init` writes a configuration for, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Start:
    """The contents of a directory that matter to tokverify, as paths relative to it."""

    models: Sequence[tuple[Path, Path | None]]
    """Each model with its reference, or None if `tokverify run` has to look for one."""
    suites: Sequence[Path]
    """Suites, and directories that contain nothing else."""
    left_out: str = ""
    """Why the shipped suites are not verified in addition; empty if they are."""
    root: Path = Path()
    """The root of the repository, where workflows belong."""
    below: Path = Path()
    """The path of the directory from that root."""
    uses_lfs: bool = False
    """Whether a checkout has to fetch files from Git LFS."""
    uses_submodules: bool = False
    """Whether a checkout has to include submodules."""
