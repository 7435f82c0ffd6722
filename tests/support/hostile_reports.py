"""A report of every kind, in which every text is an attack."""

from dataclasses import replace

from support.file_reports import CONVERSION, FIX, LEARNING
from support.hostile_audit import hostile_audit
from support.hostile_canonical import hostile_canonical
from support.hostile_chat import hostile_chat
from support.hostile_check import hostile_check
from support.hostile_corpus import hostile_corpus
from support.hostile_finding import HOSTILE, hostile_change, hostile_fuzz
from support.hostile_stats import hostile_stats
from support.hostile_stream import hostile_stream
from support.make_golden import hostile_report
from tokverify.compare.report_diff import compare_reports
from tokverify.report.report_diff import ReportDiff
from tokverify.report.side import Side
from tokverify.report.versions import TriedVersion, VersionsReport


def hostile_report_diff() -> ReportDiff:
    """Compare a report that lacks the first cases and the differences with one that lacks the last cases."""
    report = hostile_report()
    return compare_reports(replace(report, results=report.results[4:], differences=()), report)


def hostile_versions(text: str = HOSTILE) -> VersionsReport:
    """Make a report with two versions that were compared, and one that could not be."""
    run = hostile_report()
    return VersionsReport(
        model=Side(name=text, source=text),
        tried=(
            TriedVersion(environment="", run=run),
            TriedVersion(environment=text, run=run),
            TriedVersion(environment=text, error=text),
        ),
        options={"env": text},
    )


REPORTS = {
    "run": hostile_report,
    "fuzz": hostile_fuzz,
    "diff": hostile_change,
    "audit": hostile_audit,
    "chat": hostile_chat,
    "check": hostile_check,
    "stats": hostile_stats,
    "corpus": hostile_corpus,
    "stream": hostile_stream,
    "canonical": hostile_canonical,
    "versions": hostile_versions,
    "fix": lambda: FIX,
    "convert": lambda: CONVERSION,
    "learn": lambda: LEARNING,
    "report diff": hostile_report_diff,
}
"""Kind -> a function that makes the report."""
