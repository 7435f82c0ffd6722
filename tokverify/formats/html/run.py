"""The page of a run: verdict, diagnosis, plots by suite, cases, and what was compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.case_text import headline, known_text, plain
from tokverify.formats.effect import effect
from tokverify.formats.heading import vocabulary_lines
from tokverify.formats.html.case_data import report_data
from tokverify.formats.html.page import page, script_json
from tokverify.formats.html.suite_plot import segments, suite_counts, ticks
from tokverify.formats.verdict import plural, verdict
from tokverify.report import Status
from tokverify.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokverify.diagnosis.result import Diagnosis
    from tokverify.report import BaselineOutcome, KnownDifference, Report, Side, VocabularyDifference

_MOST_PIECES = 200
_PLOT_MARGIN = 6
_EXIT_MEANINGS = {
    0: "every case matches, or differs in a way that the baseline lists",
    1: "a case differs, or cannot be encoded",
    2: "nothing was compared",
}
_OUTCOMES = {0: "Passed", 1: "Failed", 2: "Nothing compared"}


def render(report: Report) -> str:
    """Write a page that holds the whole report."""
    context = _summary(report) | {
        "diagnosis": _diagnosis(report.diagnosis) if report.diagnosis else None,
        "plot": _plot(report),
        "failing": _failing(report),
        "baseline": _baseline(report.baseline) if report.baseline else None,
        "vocabulary": _vocabulary(report.vocabulary) if report.vocabulary else None,
        "options": list(_entries(report.options)),
        "data": script_json(report_data(report)),
    }
    return page("run.html.jinja", ["page.js", "alignment.js", "run.js"], context)


def _summary(report: Report) -> dict[str, object]:
    first, _, others = verdict(report).partition("; ")
    return {
        "title": f"{plain(report.actual.name)}: {_OUTCOMES[report.exit_code].lower()}",
        "outcome": _OUTCOMES[report.exit_code],
        "exit_code": report.exit_code,
        "exit_meaning": _EXIT_MEANINGS[report.exit_code],
        "verdict": plain(first),
        "reservations": plain(others),
        "counts": [(str(status), report.count(status)) for status in Status if report.count(status)],
        "sides": [("actual", _side(report.actual)), ("expected", _side(report.expected))],
        "versions": sorted((plain(name), plain(version)) for name, version in report.versions.items()),
    }


def _side(side: Side) -> dict[str, object]:
    return {
        "name": plain(side.name),
        "source": plain(side.source) if side.source != side.name else "",
        "reason": plain(side.reason),
        "caveat": plain(side.caveat),
        "digests": [(name, plain(getattr(side, name))) for name in ("fingerprint", "sha256") if getattr(side, name)],
        "settings": list(_entries(side.settings)),
        "overrides": list(map(plain, side.overrides)),
    }


def _entries(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        yield plain(name), plain(shown)


def _diagnosis(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "tried": plural(diagnosis.tried, "change"),
        "stopped_early": diagnosis.stopped_early,
        "explanations": [
            {
                "effect": plain(effect(found, diagnosis)),
                "sentence": plain(found.sentence),
                "expressible": found.expressible,
                "repair": plain(found.repair or ""),
                "unexplained": list(map(plain, found.unexplained)),
            }
            for found in diagnosis.explanations
        ],
    }


def _plot(report: Report) -> dict[str, object]:
    counts = suite_counts(report)
    marks = ticks(counts)
    return {
        "ticks": [(f"{mark:g}", _place(mark, marks[-1])) for mark in marks],
        "statuses": [str(status) for status in Status if report.count(status) and status is not Status.SKIPPED],
        "suites": [
            {
                "name": count.name,
                "segments": segments(count),
                "match": count.statuses[Status.MATCH],
                "compared": count.compared,
                "skipped": count.statuses[Status.SKIPPED],
                "rate": _percent(count.match_rate),
                "rates": [f"{rate:.2f}" for rate in count.rates or ()],
                "places": [_place(rate, marks[-1]) for rate in count.rates or ()],
            }
            for count in counts
        ],
    }


def _place(value: float, most: float) -> float:
    """Return where a value is drawn, in percent of the plot's width."""
    return round(_PLOT_MARGIN + value / most * (100 - 2 * _PLOT_MARGIN), 2)


def _percent(rate: float | None) -> str:
    """Write a share so that only what is whole reads 100 %, and only what is nothing reads 0 %."""
    if rate is None:
        return "skipped"
    return f"{min(max(round(100 * rate), int(rate > 0)), 100 - int(rate < 1))} %"


def _failing(report: Report) -> list[tuple[str, str, str]]:
    """Return what there is to see of failing cases without a script."""
    failing = [result for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    return [(str(result.status), plain(result.name), headline(result)) for result in failing]


def _baseline(baseline: BaselineOutcome) -> dict[str, object]:
    return {
        "source": plain(baseline.source),
        "fixed": list(map(_entry, baseline.fixed)),
        "not_run": list(map(_entry, baseline.not_run)),
    }


def _entry(entry: KnownDifference) -> tuple[str, str, str]:
    return plain(entry.case), plain(known_text(entry)), plain(entry.place)


def _vocabulary(vocabulary: VocabularyDifference) -> dict[str, object]:
    pieces = vocabulary.pieces[:_MOST_PIECES]
    return {
        "lines": [line.plain for line in vocabulary_lines(vocabulary)],
        "pieces": [
            (piece.id, *(None if side is None else visible(side) for side in (piece.actual, piece.expected)))
            for piece in pieces
        ],
        "left_out": len(vocabulary.pieces) - len(pieces),
    }
