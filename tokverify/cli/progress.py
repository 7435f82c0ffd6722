"""How far a run is, on stderr: shown only where somebody watches and only when it takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status

    from tokverify.report.fuzz import FuzzProgress, Share

_PATIENCE_SECONDS = 1.0
_SPINNER = 2
"""Cells before a status line."""


class ProgressBar:
    """Counts `what`; nothing is imported or drawn in the first second, or where stderr is no terminal."""

    def __init__(self, *, wanted: bool, what: str = "cases") -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._what = what
        self._start = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar[0].stop()

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        if self._wanted and not self._bar and time.monotonic() - self._start > _PATIENCE_SECONDS:
            self._bar = _start_bar(total, self._what)
        if self._bar:
            progress, task = self._bar
            progress.update(task, completed=done)


def _start_bar(total: int, what: str) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    progress = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = progress.add_task(what, total=total)
    progress.start()
    return progress, task


class StatusLine:
    """Tells what is being done, on one line of a stderr terminal; not in the first `patience` seconds."""

    def __init__(self, *, wanted: bool, patience: float = 0.0) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._patience = patience
        self._start = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._status:
            self._status.stop()

    @property
    def seconds(self) -> float:
        """The time since it began."""
        return time.monotonic() - self._start

    def show(self, text: str) -> None:
        """Replace what the line says."""
        if self._wanted and not self._status and self.seconds >= self._patience:
            self._status = _start_status()
        if self._status:
            from rich.text import Text

            line = Text(text)
            line.truncate(self._status.console.width - _SPINNER, overflow="ellipsis")
            self._status.update(line)


class FuzzLine(StatusLine):
    """Shows how far a fuzz run is."""

    def __init__(self, *, wanted: bool) -> None:
        super().__init__(wanted=wanted, patience=_PATIENCE_SECONDS)

    def update(self, progress: FuzzProgress) -> None:
        """Show how far it is."""
        if self._wanted:
            self.show(fuzz_line(progress, max(self.seconds, 1e-9)))


def fuzz_line(progress: FuzzProgress, seconds: float) -> str:
    """Sum up how far a fuzz run is, within 80 columns."""
    failing = f"{progress.failing:,} {'fails' if progress.failing == 1 else 'fail'}"
    parts = [
        plural(progress.strings, "string"),
        f"{progress.strings / seconds:,.0f}/s",
        f"{failing} ({plural(progress.causes, 'cause')})" if progress.failing else failing,
        f"pieces {_percent(progress.coverage.pieces)}%",
    ]
    if progress.coverage.merges:
        parts.append(f"merges {_percent(progress.coverage.merges)}%")
    return ", ".join(parts)


def _percent(share: Share) -> int:
    return 100 * share.done // share.total if share.total else 100


def _start_status() -> Status:
    from rich.console import Console

    status = Console(stderr=True).status("")
    status.start()
    return status
