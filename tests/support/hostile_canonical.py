"""A report of `tokverify canonical` with every cause, in which every text is an attack."""

from dataclasses import replace
from functools import cache

from support.hostile_finding import HOSTILE, hostile_fuzz
from tokverify.report.canonical import CanonicalReport, Deviation, DeviationCount
from tokverify.report.run import Status
from tokverify.report.side import Side


@cache
def hostile_canonical() -> CanonicalReport:
    """Make a report in which everything goes wrong."""
    results = [result for result in hostile_fuzz().report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    report = replace(
        hostile_fuzz().report,
        expected=Side(name="log", source=HOSTILE),
        vocabulary=None,
        results=tuple(results),
        differences=(),
        diagnosis=None,
    )
    ids = tuple(result.case.id for result in results)
    return CanonicalReport(
        report=report,
        sequences=1000,
        tokens=50_000,
        deviating=len(Deviation),
        deviating_tokens=77,
        causes=tuple(DeviationCount(cause=cause, sequences=1, cases=ids[:1]) for cause in Deviation),
    )
