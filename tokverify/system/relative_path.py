"""Shorten paths for display and for files that name other files."""

from __future__ import annotations

import os
from pathlib import Path


def relative_path(path: Path | str, start: Path | str = os.curdir) -> str:
    """Return a path as seen from the directory `start`, or itself if that is on another drive of Windows."""
    try:
        return os.path.relpath(path, start)
    except ValueError:
        return str(path)
