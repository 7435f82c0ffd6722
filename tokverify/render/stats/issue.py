"""The texts that a tokenizer cannot encode as issues, for CI systems."""

from __future__ import annotations

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Level, issue_of
from tokverify.render.stats.verdict import verdict
from tokverify.report.stats import StatsReport, stats_exit_code
from tokverify.text.visible import visible_message

_FAILURE = Check("stats-failure", "not encoded", "A tokenizer cannot encode a text.", Level.ERROR)


def to_ci_report(stats: StatsReport) -> CiReport:
    """Return what CI systems show of statistics."""
    return CiReport(
        issues=(
            issue_of(
                _FAILURE,
                [visible_message(f"{measured.name} cannot encode {failure}")],
                path=measured.source,
                key=f"{measured.name}\0{failure}",
            )
            for measured in stats.tokenizers
            for failure in measured.failures
        ),
        checks=(_FAILURE,),
        verdict=verdict(stats),
        exit_code=stats_exit_code(stats),
    )
