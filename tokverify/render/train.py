"""The output of `tokverify train`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokverify.render.run.verdict import effect, verdict
from tokverify.report.run import Report, count_decode_differences, run_exit_code
from tokverify.report.train import ChecklistPoint, Training, TrainingStep
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural

_MAX_TOKENS = 24


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
        *_describe_checklist(training.checklist),
        *(f"note      {note}" for note in training.notes),
    ]
    trace = "".join(f"{line}\n" for line in _draw_trace(training.trace))
    return trace + "".join(f"{visible_message(line)}\n" for line in lines)


def render_verdict(training: Training) -> str:
    """Render one line that sums the verification up."""
    held = f"; {_count_points(training.checklist)}" if training.checklist else ""
    return f"{visible_message(verdict(training.report) + held)}\n"


def _count_points(points: Sequence[ChecklistPoint]) -> str:
    """Say how many points of the checklist hold, and why others do not."""
    missing = sum(not point.holds and point.is_learned for point in points)
    held = f"{sum(point.holds for point in points)} of {len(points)} points of the design document hold"
    return f"{held}; the corpus lacks the words of {missing}" if missing else held


def _describe_checklist(points: Sequence[ChecklistPoint]) -> Iterator[str]:
    """Show whether each point to verify holds, and the tokens of its text."""
    if not points:
        return
    yield f"checklist {_count_points(points)}"
    for point in points:
        result = "yes" if point.holds else "lacks" if point.is_learned else "NO"
        pieces = " ".join(visible(token.piece) for token in point.tokens)
        yield f"  {result:8}{point.name:22}{visible(point.text)}  →  {pieces}"


def _draw_trace(steps: Iterable[TrainingStep]) -> Iterator[str]:
    """Show each merge as the description of byte-pair encoding does."""
    for number, step in enumerate(steps, start=1):
        pair = f"({step.left.id}, {step.right.id})"
        yield f"merge {number:,}"
        yield f"  counts  {', '.join(_draw_counts(step))}"
        yield f"  pair    {pair} {visible(step.left.token_bytes)} + {visible(step.right.token_bytes)}"
        yield f"  new id  {step.merged.id} {visible(step.merged.token_bytes)}"
        listed = ", ".join(map(str, step.tokens[:_MAX_TOKENS]))
        is_whole = len(step.tokens[:_MAX_TOKENS]) == step.total
        yield f"  tokens  [{listed}]" if is_whole else f"  tokens  [{listed}, ...], {step.total:,} in all"
        yield ""


def _draw_counts(step: TrainingStep) -> Iterator[str]:
    for counted in step.counts:
        yield f"({counted.left}, {counted.right}): {counted.count:,}"
    if step.pairs > len(step.counts):
        yield f"{step.pairs - len(step.counts):,} more"


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
