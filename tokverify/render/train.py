"""What `tokverify train` says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.render.run.verdict import effect, verdict
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.run import Report
    from tokverify.train.run import Training


def render(training: Training, output: Path) -> str:
    """Tell what was written where, what it is worth, and what else there is to know."""
    report = training.report
    made_up = plural(training.strings, "made-up text")
    lines = [
        f"written   {output}: {', '.join(training.names)}",
        f"tokens    {training.size:,}",
        f"verified  tokenizer.gguf against {report.expected.source}, also with {made_up}",
        f"          {verdict(report)}",
        *_reasons(report),
        *(f"note      {note}" for note in training.notes),
    ]
    return "".join(f"{visible_message(line)}\n" for line in lines)


def _reasons(report: Report) -> Iterator[str]:
    """Say why ids differ, or if none do, why some decode differently."""
    if not report.exit_code and not report.decode_differences:
        return
    diagnosis = report.diagnosis
    best = diagnosis.explanations[0] if diagnosis and diagnosis.explanations else None
    if diagnosis is None or best is None:
        yield "why       not known: no change that was tried makes any of them match"
        return
    yield f"why       {effect(best, diagnosis)}"
    if best.unexplained:
        yield f"          the other {plural(len(best.unexplained), 'case')}: not known"
    if not best.expressible:
        yield f"          only {report.expected.name} does so: GGUF has no key for it"
