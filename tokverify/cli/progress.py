"""A progress bar on stderr, shown only where somebody watches and only when it takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_SECONDS = 1.0


class ProgressBar:
    """Counts cases; nothing is imported or drawn in the first second, or where stderr is no terminal."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._start = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar[0].stop()

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` cases are done."""
        if self._wanted and not self._bar and time.monotonic() - self._start > _PATIENCE_SECONDS:
            self._bar = _start_bar(total)
        if self._bar:
            progress, task = self._bar
            progress.update(task, completed=done)


def _start_bar(total: int) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    progress = Progress(
        TextColumn("cases"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task("cases", total=total)
    progress.start()
    return progress, task
