"""Run the command line of a checkout as a child process."""

import os
from pathlib import Path


def environment(checkout: Path, home: Path) -> dict[str, str]:
    """Return the environment of a command: nothing of the user's, no network, and the package of the checkout."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(checkout),
        "HOME": str(home),
        "TMPDIR": str(home),
        "TOKVERIFY_CACHE": str(home / "cache"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "HF_HUB_OFFLINE": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
