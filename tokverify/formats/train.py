"""What `tokverify train` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.verdict import plural, verdict
from tokverify.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from tokverify.training.run import Training


def render(training: Training, output: Path) -> str:
    """Tell what was written where, what it is worth, and what else there is to know."""
    report = training.report
    made_up = plural(training.strings, "made-up text")
    lines = [
        f"written   {output}: {', '.join(training.names)}",
        f"tokens    {training.size:,}",
        f"verified  tokenizer.gguf against {report.expected.source}, also with {made_up}",
        f"          {verdict(report)}",
        *(f"note      {note}" for note in training.notes),
    ]
    return "".join(f"{visible(line, mark_spaces=False)}\n" for line in lines)
