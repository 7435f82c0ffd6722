"""The page of a run: the verdict, the diagnosis, plots by suite, the cases, and what was compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from tokverify.render.case_text import headline, known_text
from tokverify.render.draw_html import entries, page, page_top, script_json, version_list
from tokverify.render.run.case_data import Causes, cases_data, causes
from tokverify.render.run.describe import vocabulary_lines
from tokverify.render.run.verdict import effect, effect_of, name_aspect, verdict
from tokverify.report.diagnosis import Diagnosis, command_line
from tokverify.report.known_difference import BaselineOutcome, KnownDifference, subject_of
from tokverify.report.run import CaseResult, Report, Status, count_status, run_exit_code
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import TokenizerDifference
from tokverify.report.vocabulary_difference import PieceDifference, VocabularyDifference
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import percentage, plural

_MAX_PIECES = 200
_MAX_OPEN_PIECES = 20
"""Longer lists, such as those of padding tokens, are folded."""
_PLOT_MARGIN = 6
_SCRIPTS = ("html/page.js", "run/alignment.js", "run/cases.js", "run/links.js")
_OUTCOMES = {
    0: ("Passed", "everything compared agrees, or differs in a way that is accepted"),
    1: ("Failed", "the tokenizers differ, or a case differs or cannot be encoded"),
    2: ("Nothing compared", "nothing was compared"),
}


def render(report: Report) -> str:
    """Write a page that holds the whole report."""
    exit_code = run_exit_code(report)
    context = {
        **page_top(visible_message(report.actual.name), verdict(report), exit_code, _OUTCOMES[exit_code]),
        **comparison(report),
        **_case_list((report, causes(report))),
        "undiagnosed": visible_message(report.undiagnosed),
        "diagnosis": _diagnosis_data(report.diagnosis) if report.diagnosis else None,
    }
    return page("run/page.html.jinja", _SCRIPTS, context)


def comparison(report: Report) -> dict[str, object]:
    """Return what was compared with what."""
    return {
        "sides": [("actual", side_data(report.actual)), ("expected", side_data(report.expected))],
        "versions": version_list(report.versions),
        "differences": list(map(partial(_difference, report), report.differences)),
        "not_compared": list(map(visible_message, report.not_compared)),
        "vocabulary": None if report.vocabulary is None else _vocabulary(report.vocabulary),
        "baseline": _baseline(report.baseline) if report.baseline else None,
        "options": entries(report.options),
        "plot": _plot(report),
    }


def _case_list(*reports: tuple[Report, Causes]) -> dict[str, object]:
    """Return the cases of reports, one report after the other, each with the causes of its cases."""
    results = [result for report, _ in reports for result in report.results]
    statuses = Counter(result.status for result in results)
    failing = [result for result in results if result.fails]
    return {
        "counts": [(str(status), statuses[status]) for status in Status if statuses[status]],
        # Failing cases as they are shown without scripts.
        "failing": [(str(result.status), visible_message(result.case.name), headline(result)) for result in failing],
        "data": script_json(cases_data(reports)),
    }


def side_data(side: Side) -> dict[str, object]:
    """Return the description of a side."""
    return {
        "name": visible_message(side.name),
        "source": visible_message(side.source) if side.source != side.name else "",
        "reason": visible_message(side.reason),
        "caveat": visible_message(side.caveat),
        "digests": [
            (name, visible_message(getattr(side, name))) for name in ("fingerprint", "sha256") if getattr(side, name)
        ],
        "settings": entries(side.settings),
        "overrides": list(map(visible_message, side.overrides)),
    }


def _diagnosis_data(diagnosis: Diagnosis) -> dict[str, object]:
    """Return the explanations of a diagnosis."""
    return {
        "tried": plural(diagnosis.tried, "change"),
        "stopped_early": diagnosis.stopped_early,
        "explanations": [
            {
                "effect": visible_message(effect(found, diagnosis)),
                "sentence": visible_message(found.sentence),
                "repair": [
                    (command.label, visible_message(command_line(command))) for command in found.repair.commands
                ],
                "remark": found.repair.remark,
                "unexplained": list(map(visible_message, found.unexplained)),
            }
            for found in diagnosis.explanations
        ],
    }


def _difference(report: Report, difference: TokenizerDifference) -> dict[str, object]:
    notes = [f"accepted: {known_text(difference.known)}"] if difference.known else difference.refusals
    return {
        "effect": effect_of(difference, report),
        "severity": difference.severity.name,
        "aspect": name_aspect(difference.aspect),
        "message": visible_message(difference.message),
        "notes": list(map(visible_message, notes)),
    }


def _plot(report: Report) -> dict[str, object]:
    counts = suite_counts(report)
    marks = ticks(counts)
    return {
        "ticks": [(f"{mark:g}", _place(mark, marks[-1])) for mark in marks],
        "statuses": [str(status) for status in Status if count_status(report, status) and status is not Status.SKIPPED],
        "suites": [
            {
                "name": count.name,
                "segments": segments(count),
                "match": count.statuses[Status.MATCH],
                "compared": count.compared,
                "skipped": count.statuses[Status.SKIPPED],
                "rate": "skipped" if count.match_rate is None else percentage(count.match_rate, 1, 0),
                "rates": [f"{rate:.2f}" for rate in count.rates or ()],
                "places": [_place(rate, marks[-1]) for rate in count.rates or ()],
            }
            for count in counts
        ],
    }


def _place(value: float, most: float) -> float:
    """Return where a value is drawn, in percent of the plot's width."""
    return round(_PLOT_MARGIN + value / most * (100 - 2 * _PLOT_MARGIN), 2)


def _baseline(baseline: BaselineOutcome) -> dict[str, object]:
    return {
        "source": visible_message(baseline.source),
        "fixed": list(map(_entry, baseline.fixed)),
        "not_run": list(map(_entry, baseline.not_run)),
    }


def _entry(entry: KnownDifference) -> tuple[str, str, str]:
    return visible_message(subject_of(entry)), visible_message(known_text(entry)), visible_message(entry.place)


def _vocabulary(vocabulary: VocabularyDifference) -> dict[str, object]:
    pieces = vocabulary.pieces[:_MAX_PIECES]
    groups = {
        "tokens that differ": [piece for piece in pieces if piece.actual is not None and piece.expected is not None],
        "tokens that only actual has": [piece for piece in pieces if piece.expected is None],
        "tokens that only expected has": [piece for piece in pieces if piece.actual is None],
    }
    return {
        "lines": [line.text for line in vocabulary_lines(vocabulary)],
        "groups": [(title, list(map(_piece_row, group))) for title, group in groups.items() if group],
        "most_open": _MAX_OPEN_PIECES,
        "left_out": len(vocabulary.pieces) - len(pieces),
    }


def _piece_row(piece: PieceDifference) -> tuple[int, str | None, str | None]:
    actual, expected = (None if side is None else visible(side) for side in (piece.actual, piece.expected))
    return piece.id, actual, expected


_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_MAX_TICKS = 5


@dataclass(slots=True)
class SuiteCount:
    """The totals of a suite; characters and tokens include only cases that both sides encoded."""

    name: str
    statuses: Counter[Status] = field(default_factory=Counter)
    characters: int = 0
    actual: int = 0
    expected: int = 0

    def add(self, result: CaseResult) -> None:
        """Count one case."""
        self.statuses[result.status] += 1
        if result.actual or result.expected:
            self.characters += len(result.case.text)
            self.actual += len(result.actual)
            self.expected += len(result.expected)

    @property
    def compared(self) -> int:
        """The number of cases that were not skipped."""
        return self.statuses.total() - self.statuses[Status.SKIPPED]

    @property
    def match_rate(self) -> float | None:
        """The share of the compared cases that match; None if all were skipped."""
        return self.statuses[Status.MATCH] / self.compared if self.compared else None

    @property
    def rates(self) -> tuple[float, float] | None:
        """Tokens per character on both sides; None if nothing was encoded."""
        return (self.actual / self.characters, self.expected / self.characters) if self.characters else None


def suite_counts(report: Report) -> list[SuiteCount]:
    """Count by suite; the suites with the lowest share of matches come first."""
    counts: dict[str, SuiteCount] = {}
    for result in report.results:
        counts.setdefault(result.case.suite, SuiteCount(visible_message(result.case.suite))).add(result)
    return sorted(counts.values(), key=lambda count: 2.0 if count.match_rate is None else count.match_rate)


def segments(count: SuiteCount) -> list[tuple[str, float, float]]:
    """Return the segments of a bar as (status, start, length) in percent, without skipped cases."""
    at = 0.0
    found = []
    for status in (Status.MATCH, Status.KNOWN, Status.MISMATCH, Status.ERROR):
        if count.statuses[status]:
            length = 100 * count.statuses[status] / count.compared
            found.append((str(status), round(at, 2), round(length, 2)))
            at += length
    return found


def ticks(counts: Iterable[SuiteCount]) -> list[float]:
    """Return round marks from 0 to at least the largest number of tokens per character."""
    most = max((rate for count in counts for rate in count.rates or ()), default=0.0)
    step = next((step for step in _STEPS if step * _MAX_TICKS >= most), most / _MAX_TICKS)
    marks = [0.0, step]
    while marks[-1] < most:
        marks.append(round(marks[-1] + step, 6))
    return marks
