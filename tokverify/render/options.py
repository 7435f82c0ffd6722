"""Options that all output formats take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """How to write a report."""

    width: int = 100
    """The width of the terminal in cells, for `table`."""
    color: bool = False
    verbose: bool = False
    """Whether to show what passed too and to fold nothing."""
    quiet: bool = False
    """Whether to write the verdict only."""
    limit: int | None = None
    """How many bytes `markdown` may take; what comes last is left out."""
    root: str = ""
    """The directory to which CI systems want paths to be relative; empty if it is unknown."""
    stand_in: str = "."
    """The path, relative to `root`, for issues about no file below it, where a CI system requires one."""
