"""What `tokverify fix` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.verdict import plural
from tokverify.visible import visible

if TYPE_CHECKING:
    from pathlib import Path

    from tokverify.fixing import Plan, Verification


def render_plan(plan: Plan) -> str:
    """Tell what fails, and what would be written."""
    lines = [f"before: {_counts(plan.before)}"]
    if plan.before.refusal:
        lines.append(f"        llama.cpp cannot load it: {plan.before.refusal}")
    best = plan.diagnosis.explanations[0] if plan.diagnosis and plan.diagnosis.explanations else None
    if best:
        lines.append(
            f"cause:  {best.sentence} makes {best.explained:,} of {plural(best.failing, 'failing case')} match"
        )
    if plan.change is None:
        lines.append(_nothing(plan))
    else:
        lines.append(f"repair: {plan.change.sentence}")
        lines.append(f"        writes {', '.join(plan.keys)}")
        if plan.change.repair:
            lines.append(f"        the same with the gguf package: {plan.change.repair}")
    return _joined(lines)


def _nothing(plan: Plan) -> str:
    if not plan.before.fail:
        return "repair: none needed"
    if plan.diagnosis is None or not plan.diagnosis.explanations:
        return "repair: none found"
    return "repair: none that GGUF can express"


def render_result(plan: Plan, after: Verification, output: Path) -> str:
    """Tell what was written, and what it is worth."""
    gained = plan.before.fail - after.fail
    return _joined([f"after:  {_counts(after)}, {gained:,} more than before", f"written to {output}"])


def _counts(found: Verification) -> str:
    return f"{plural(found.match, 'case')} match, {found.fail:,} do not"


def _joined(lines: list[str]) -> str:
    return "".join(f"{visible(line, mark_spaces=False)}\n" for line in lines)
