"""Show the progress of a corpus run on stderr, as a bar or as JSON Lines."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from tokverify.commands.cli.stream import write_stderr
from tokverify.render.corpus.progress import describe_differences, progress_to_json

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tokverify.report.corpus_progress import CorpusProgress

PROGRESS = ("bar", "json")
"""How progress can be shown."""


class CorpusProgressLine:
    """A bar, if stderr is a terminal; or a line of JSON for each update.

    Args:
        kind: One of `PROGRESS`.
        enabled: Whether to show a bar.
    """

    def __init__(self, kind: str, *, enabled: bool) -> None:
        self._writes_json = kind == "json"
        self._has_bar = enabled and not self._writes_json and sys.stderr.isatty()
        self._bar: tuple[Progress, TaskID] | None = None
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar[0].stop()

    def update(self, progress: CorpusProgress) -> None:
        """Show the current state."""
        if self._writes_json:
            write_stderr(progress_to_json(progress, seconds=time.monotonic() - self._start))
        elif self._has_bar:
            self._bar = self._bar or _start_bar(progress)
            bar, task = self._bar
            bar.update(task, completed=progress.file_bytes.done, differences=describe_differences(progress))


def _start_bar(progress: CorpusProgress) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[differences]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    # What earlier runs have done says nothing about the speed of this one.
    task = bar.add_task("", total=progress.file_bytes.total, completed=progress.file_bytes.done, differences="")
    bar.start()
    return bar, task
