"""The output of `tokverify fix`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.render.run.verdict import effect
from tokverify.text.command_line import fill_in
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.fix.fixing import Plan, Verification


def render_plan(plan: Plan, model: Path, output: Path | None) -> str:
    """Render what fails in the file `model`, and what would be written to `output`, if that is known."""
    lines = [f"before: {_format_counts(plan.before)}"]
    if plan.before.refusal:
        lines.append(f"        llama.cpp cannot load it: {plan.before.refusal}")
    best = plan.diagnosis.explanations[0] if plan.diagnosis and plan.diagnosis.explanations else None
    if plan.diagnosis and best:
        lines.append(f"cause:  {effect(best, plan.diagnosis)}")
    if plan.change is None:
        lines.append(_explain_no_repair(plan))
    else:
        is_cause = best is not None and best.sentence == plan.change.sentence
        lines += [] if is_cause else [f"repair: {plan.change.sentence}"]
        lines.append(f"{'repair:' if is_cause else '':7} writes {', '.join(plan.keys)}")
        if plan.change.gguf_command:
            command = " ".join(fill_in(plan.change.gguf_command, str(model), str(output) if output else None))
            lines.append(f"        the same with the gguf package: {command}")
    return _join_lines(lines)


def _explain_no_repair(plan: Plan) -> str:
    if not plan.before.fail and plan.before.decoded_differently:
        return "repair: none found for the decoding"
    if not plan.before.fail:
        return "repair: none needed, as every case matches; name cases that show a fault with --cases"
    if plan.diagnosis is None or not plan.diagnosis.explanations:
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
