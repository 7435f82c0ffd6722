"""The directory in which tokverify keeps what it can compute or download again."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "TOKVERIFY_CACHE"
"""The environment variable that names the directory of caches."""


def cache_directory() -> Path:
    """Return the directory for caches of this user, which need not exist."""
    if own := os.environ.get(VARIABLE):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tokverify")
