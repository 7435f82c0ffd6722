"""The one line that sums up a report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.run import Report


def verdict(report: Report) -> str:
    """Sum up a report, such as `280 cases: 268 match, 12 mismatch`."""
    counts = [f"{report.count(status):,} {status}" for status in Status if report.count(status)]
    parts = [f"{plural(len(report.results), 'case')}: {', '.join(counts) or 'none run'}"]
    if report.decode_differences:
        parts.append(f"{report.decode_differences:,} decoded differently")
    if report.vocabulary:
        parts.append("the vocabularies differ")
    if report.stopped_early:
        parts.append("stopped at the first failure, the rest was not run")
    if report.baseline and report.baseline.fixed:
        parts.append(f"{plural(len(report.baseline.fixed), 'entry', 'entries')} of the baseline fixed")
    if report.exit_code not in {0, 1}:
        parts.append("nothing was compared")
    return "; ".join([*parts, *_reservations(report)])


def _reservations(report: Report) -> Iterator[str]:
    """What a person must know who reads nothing but the verdict."""
    if any(result.case.parse_special and not result.parse_special for result in report.results):
        yield "control tokens inside texts were not compared"
    if any(result.case.add_special and not result.add_special for result in report.results):
        yield "tokens around texts were not compared"
    if told := caveat(report):
        yield told


def caveat(report: Report) -> str:
    """Return in short what agreement with the reference cannot prove, beginning with `but`; empty if nothing."""
    return f"but {re.split('[:;]', report.expected.caveat)[0]}" if report.expected.caveat else ""
