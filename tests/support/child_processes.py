"""The processes that this process has started."""

import os
from contextlib import suppress
from pathlib import Path


def list_children() -> set[int]:
    """Return the ids of the processes that any thread of this process has started and that still run."""
    found: set[int] = set()
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with suppress(OSError):
            found.update(map(int, (thread / "children").read_text().split()))
    return found
