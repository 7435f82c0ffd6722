"""The versions that give other ids as issues, for CI systems."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level, issue_of
from tokverify.render.run.verdict import verdict as run_verdict
from tokverify.render.versions.describe import name_of, verdict
from tokverify.report.run_summary import run_exit_code
from tokverify.report.versions import VersionsReport, find_disputes, versions_exit_code
from tokverify.text.visible import visible_message

_DIFFERENT = Check("version-different", "different", "The model differs from the reference.", Level.ERROR)
_FAILED = Check("version-error", "error", "A version could not be tried.", Level.ERROR)


def to_ci_report(report: VersionsReport) -> CiReport:
    """Return what CI systems show of several versions."""
    return CiReport(
        issues=_issues(report),
        checks=(_DIFFERENT, _FAILED),
        verdict=verdict(report),
        exit_code=versions_exit_code(report),
        properties={"model": report.model.source},
    )


def _issues(report: VersionsReport) -> Iterator[Issue]:
    """Yield an issue for each version that differs or could not be tried; a version is one test."""
    disputes = list(find_disputes(report))
    for index, tried in enumerate(report.tried):
        name = name_of(tried)
        if tried.run is None:
            yield _issue(_FAILED, name, [tried.error], report)
        elif run_exit_code(tried.run):
            concerned = [dispute.name for dispute in disputes if index not in dispute.outcomes[0].versions]
            yield _issue(_DIFFERENT, name, [run_verdict(tried.run), *concerned], report)


def _issue(check: Check, name: str, lines: list[str], report: VersionsReport) -> Issue:
    shown = list(map(visible_message, lines))
    shown[0] = f"{visible_message(name)}: {shown[0]}"
    return issue_of(check, shown, path=report.model.source, key=f"{report.model.name}\0{name}")
