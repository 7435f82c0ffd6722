"""Describe how far a corpus run is, for a person or a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tokverify.render.corpus.verdict import format_bytes
from tokverify.text.wording import percentage, plural

if TYPE_CHECKING:
    from tokverify.report.corpus_progress import CorpusProgress


def describe_progress(progress: CorpusProgress) -> str:
    """Return a few lines about a run."""
    done, total = progress.file_bytes.done, progress.file_bytes.total
    lines = [
        f"{progress.units.done:,} of {plural(progress.units.total, 'unit')} done"
        f" ({percentage(done, total, 0)} of {format_bytes(total)})",
        f"{plural(progress.documents, 'document')} compared, {format_bytes(progress.bytes)} of text",
        describe_differences(progress),
    ]
    if progress.busy_seconds:
        rate = format_bytes(round(progress.bytes / progress.busy_seconds))
        lines.append(f"{rate} of text per second and worker")
    return "\n".join(lines)


def describe_differences(progress: CorpusProgress) -> str:
    """Return what has been found so far, in one line."""
    verb = "differs" if progress.differing == 1 else "differ"
    causes = ", ".join(f"{cause} {count:,}" for cause, count in progress.causes.items())
    parts = [f"{plural(progress.differing, 'document')} {verb}{f' ({causes})' if causes else ''}"]
    if progress.unreadable:
        parts.append(f"{progress.unreadable:,} unreadable")
    return ", ".join(parts)


def progress_to_json(progress: CorpusProgress, seconds: float | None = None) -> str:
    """Return a line of JSON; `seconds` is the time since the start of the command, if it is running."""
    fields = msgspec.to_builtins(progress)
    if seconds is not None:
        fields["seconds"] = round(seconds, 3)
    return msgspec.json.encode(fields).decode()
