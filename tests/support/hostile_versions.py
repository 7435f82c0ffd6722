"""A report of `tokverify versions` in which every text is an attack."""

from support.hostile_finding import HOSTILE
from support.make_golden import hostile_report
from tokverify.report.run import Side
from tokverify.report.versions import TriedVersion, VersionsReport


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
