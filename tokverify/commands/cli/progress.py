"""Show progress on stderr, if it is a terminal and the command takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from tokverify.text.wording import plural, verb

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status

    from tokverify.report.fuzz import FuzzProgress, Share

_PATIENCE_SECONDS = 1.0
READING = "reading the tokenizers"
"""The first step of most commands; with a vocabulary of 200,000 tokens, it takes seconds."""
_SPINNER = 2
"""The number of cells before the text of a status line."""


class ProgressBar:
    """A progress bar that counts `what`. It appears after a second, if stderr is a terminal.

    Lines say what happens before the first item and, with `then`, after the last one, which can take longer than all of
    them.
    """

    def __init__(self, *, enabled: bool, what: str = "cases", first: str = READING, then: str = "") -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._what = what
        self._first = first
        self._then = then
        self._start = time.monotonic()
        self._bar: tuple[Progress, TaskID] | None = None
        self._line = StatusLine(enabled=enabled)

    def __enter__(self) -> Self:
        self._line.show(self._first)
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def update(self, done: int, total: int) -> None:
        """Show that `done` of `total` items are done."""
        self._line.stop()
        if self._enabled and not self._bar and time.monotonic() - self._start > _PATIENCE_SECONDS:
            self._bar = _start_bar(total, self._what)
        if self._bar:
            progress, task = self._bar
            progress.update(task, completed=done, total=total)
        if self._then and done == total:
            self._stop()
            self._line.show(self._then)

    def _stop(self) -> None:
        self._line.stop()
        if self._bar:
            self._bar[0].stop()
            self._bar = None


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
    """A line that shows the current step. It appears if stderr is a terminal."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._start = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Remove the line; the next text brings it back."""
        if self._status:
            self._status.stop()
            self._status = None

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self._start

    def show(self, text: str) -> None:
        """Replace the text of the line."""
        if self._enabled and not self._status:
            self._status = _start_status()
        if self._status:
            from rich.text import Text

            line = Text(text)
            line.truncate(self._status.console.width - _SPINNER, overflow="ellipsis")
            self._status.update(line)


class FuzzLine(StatusLine):
    """The progress of a command that reads tokenizers, and of its fuzz run."""

    def __enter__(self) -> Self:
        self.show(READING)
        return self

    def update(self, progress: FuzzProgress) -> None:
        """Show the current progress."""
        if self._enabled:
            self.show(fuzz_line(progress, max(self.seconds, 1e-9)))


def fuzz_line(progress: FuzzProgress, seconds: float) -> str:
    """Summarize the progress of a fuzz run within 80 columns."""
    failing = f"{progress.failing:,} {verb(progress.failing, 'fail')}"
    parts = [
        plural(progress.strings, "text"),
        f"{progress.strings / seconds:,.0f}/s",
        f"{failing} ({plural(progress.causes, 'cause')})" if progress.failing else failing,
    ]
    if progress.coverage.pieces.total:
        parts.append(f"pieces {_percent(progress.coverage.pieces)}%")
    if progress.coverage.merges:
        parts.append(f"merges {_percent(progress.coverage.merges)}%")
    return ", ".join(parts)


def _percent(share: Share) -> int:
    return 100 * share.done // share.total


def _start_status() -> Status:
    from rich.console import Console

    status = Console(stderr=True).status("")
    status.start()
    return status
