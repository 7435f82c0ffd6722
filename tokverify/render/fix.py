"""The output of `tokverify fix`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.render.run.verdict import effect
from tokverify.text.command_line import fill_in
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.fix import FixReport, Verification


def render_plan(report: FixReport, model: Path, output: Path | None) -> str:
    """Render what fails in the file `model`, and what would be written to `output`, if that is known."""
    lines = [f"before: {_format_counts(report.before)}"]
    if report.before.refusal:
        lines.append(f"        llama.cpp cannot load it: {report.before.refusal}")
    best = report.diagnosis.explanations[0] if report.diagnosis and report.diagnosis.explanations else None
    if report.diagnosis and best:
        lines.append(f"cause:  {effect(best, report.diagnosis)}")
    if report.repair is None:
        lines.append(_explain_no_repair(report))
    else:
        is_cause = best is not None and best.sentence == report.repair.sentence
        lines += [] if is_cause else [f"repair: {report.repair.sentence}"]
        lines.append(f"{'repair:' if is_cause else '':7} writes {', '.join(report.repair.keys)}")
        if report.repair.gguf_command:
            command = " ".join(fill_in(report.repair.gguf_command, str(model), str(output) if output else None))
            lines.append(f"        the same with the gguf package: {command}")
    return _join_lines(lines)


def _explain_no_repair(report: FixReport) -> str:
    if not report.before.fail and report.before.decoded_differently:
        return "repair: none found for the decoding"
    if not report.before.fail:
        return "repair: none needed, as every case matches; name cases that show a fault with --cases"
    if report.diagnosis is None or not report.diagnosis.explanations:
        return "repair: none found"
    return "repair: none that GGUF can express"


def render_result(after: Verification, output: Path) -> str:
    """Render what was written, and the result of its verification."""
    return _join_lines([f"after:  {_format_counts(after)}", f"written to {output}"])


def _format_counts(found: Verification) -> str:
    match = f"{plural(found.match, 'case')} {'matches' if found.match == 1 else 'match'}"
    counts = f"{match}, {found.fail:,} {'does' if found.fail == 1 else 'do'} not"
    differing = found.decoded_differently
    return f"{counts}; {differing:,} {'decodes' if differing == 1 else 'decode'} differently" if differing else counts


def _join_lines(lines: list[str]) -> str:
    return "".join(f"{visible_message(line)}\n" for line in lines)
