"""The output of `tokverify train`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.render.run.verdict import effect, verdict
from tokverify.report.run_summary import count_decode_differences, run_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.run import Report
    from tokverify.report.train import Training


def render(training: Training, output: Path) -> str:
    """Render what was written, and the result of the verification."""
    report = training.report
    generated = plural(training.strings, "generated text")
    lines = [
        f"written   {output}: {', '.join(training.names)}",
        f"tokens    {training.size:,}",
        f"verified  tokenizer.gguf against {report.expected.source}, also with {generated}",
        f"          {verdict(report)}",
        *_reasons(report),
        *(f"note      {note}" for note in training.notes),
    ]
    return "".join(f"{visible_message(line)}\n" for line in lines)


def _reasons(report: Report) -> Iterator[str]:
    """Explain why ids differ, or else why some ids decode differently."""
    if not run_exit_code(report) and not count_decode_differences(report):
        return
    diagnosis = report.diagnosis
    best = diagnosis.explanations[0] if diagnosis and diagnosis.explanations else None
    if diagnosis is None or best is None:
        yield "why       not known: none of the changes that were tried makes any of them match"
        return
    yield f"why       {effect(best, diagnosis)}"
    if best.unexplained:
        yield f"          the other {plural(len(best.unexplained), 'case')}: not known"
    if not best.expressible:
        yield f"          only {report.expected.name} does this: GGUF has no key for it"
