"""Say why a repair does not contain what the diagnosis names: only the repair is checked in every way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec
from tokverify.text.wording import list_items

if TYPE_CHECKING:
    from tokverify.repair.diagnosis import DiagnosisResult, TokenizerChange
    from tokverify.repair.fix.measure import Measure, Measuring


def explain_left_out(
    result: DiagnosisResult | None,
    parts: Sequence[TokenizerChange],
    measuring: Measuring,
    repaired: TokenizerSpec,
    measure: Measure,
) -> Iterator[str]:
    """Yield, for each change of the best explanation that is not part of a repair, the change and the reason.

    Args:
        result: The diagnosis.
        parts: The repair.
        measuring: Compares tokenizers with the reference.
        repaired: What the repaired file declares.
        measure: How it differs from the reference.
    """
    if result is None or not result.changes:
        return
    kept = {step.sentence for part in parts for step in part.steps}
    for step in result.changes[0].steps:
        changed = step.transform(repaired)
        if step.expressible and step.sentence not in kept and changed_values(repaired, changed):
            yield f"{step.sentence}: {_reason(measuring.measure(changed), measure)}"


def _reason(changed: Measure, repaired: Measure) -> str:
    worse = [
        f"{name} ({changed.counts[name]:,}, not {count:,})"
        for name, count in repaired.counts.items()
        if changed.counts[name] > count
    ]
    return f"would add differences: {list_items(worse)}" if worse else "makes no difference after the repair"
