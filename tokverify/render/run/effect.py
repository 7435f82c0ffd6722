"""What the explanations of a diagnosis are worth, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.diagnosis import Diagnosis, Explanation
    from tokverify.report.run import Report


def effect(explanation: Explanation, diagnosis: Diagnosis) -> str:
    """Say what an explanation does, beginning with its sentence."""
    what = "differing decoding" if diagnosis.decoding else "failing case"
    return f"{explanation.sentence} makes {explanation.explained:,} of {plural(explanation.failing, what)} match"


def explanation_lines(report: Report) -> list[str]:
    """Tell the explanations of a report, each followed by what can be done about it; all has passed `visible`."""
    if report.diagnosis is None:
        return []
    lines: list[str] = []
    for explanation in report.diagnosis.explanations:
        lines.append(effect(explanation, report.diagnosis))
        lines += [f"{command.label}: {command}" for command in explanation.repair.commands] or [
            explanation.repair.remark
        ]
    return list(map(visible_message, lines))
