"""The one-line summary of an audit, and the lists of ids in its findings."""

from __future__ import annotations

from collections.abc import Iterable

from tokverify.render.severity import NOUNS
from tokverify.report.audit import AuditReport, count_severity
from tokverify.text.wording import plural

WITHOUT_REFERENCE = "nothing was compared with a reference"
"""What a verdict adds if rules were applied without a reference."""


def verdict(report: AuditReport) -> str:
    """Sum up an audit, such as `31 rules: 1 error, 2 informational findings; 4 rules not evaluated`."""
    counts = {noun: count_severity(report, severity) for severity, noun in NOUNS.items()}
    found = ", ".join(plural(count, noun) for noun, count in counts.items() if count)
    parts = [f"{plural(len(report.rules), 'rule')}: {found or 'no findings'}"]
    if report.waived:
        parts.append(f"{len(report.waived):,} waived")
    if report.unused_waivers:
        parts.append(plural(len(report.unused_waivers), "unused waiver"))
    if report.not_evaluated:
        parts.append(f"{plural(len(report.not_evaluated), 'rule')} not evaluated")
    if report.reference is None:
        parts.append(WITHOUT_REFERENCE)
    return "; ".join(parts)


def list_ranges(ids: Iterable[int], limit: int | None = None) -> str:
    """List ids in ascending order as ranges, such as `4-18, 30`; after `limit` ranges, only count the remaining ids."""
    ranges: list[list[int]] = []
    for id in sorted(set(ids)):
        if ranges and id == ranges[-1][1] + 1:
            ranges[-1][1] = id
        else:
            ranges.append([id, id])
    shown = ranges[:limit]
    left_out = sum(last - first + 1 for first, last in ranges[len(shown) :])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in shown)
    return f"{text} and {left_out:,} more" if left_out else text
