"""The `markdown` format, for a comment, a wiki or a job summary: the verdict first, each failing case folded away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tokverify.render.case_text import alignment_lines, description, headline, known_text
from tokverify.render.markdown_text import block, cell_code, code, details, document, mark, prose, table
from tokverify.render.run.verdict import effect, verdict
from tokverify.report.run import Status
from tokverify.report.run_summary import other_side
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.diagnosis import Diagnosis, Repair
    from tokverify.report.run import BaselineOutcome, CaseResult, Report, Side

_MOST_NAMES = 20
_MOST_OVERRIDES = 10


def render(report: Report, options: RenderOptions) -> str:
    """Write a report as Markdown, or as much of it as fits the limit."""
    heading = f"{mark(report.exit_code)} tokverify: {prose(report.actual.name)}"
    return document(heading, verdict(report), _sections(report, options), options)


def _sections(report: Report, options: RenderOptions) -> Iterator[str]:
    yield from compared(report)
    if report.diagnosis:
        yield _diagnosis(report.diagnosis)
    yield suites(report)
    failing = [result for result in report.results if result.status in {Status.MISMATCH, Status.ERROR}]
    if failing:
        yield f"### {plural(len(failing), 'failing case')}\n"
        yield from (case(result, verbose=options.verbose) for result in failing)
    yield from others(report, verbose=options.verbose)


def compared(report: Report) -> Iterator[str]:
    """Tell who was compared with whom, and whether the vocabularies differ."""
    yield table(("", "", ""), [side_row("actual", report.actual), side_row("expected", report.expected)])
    if report.actual.overrides:
        yield _overrides(report.actual)
    if report.vocabulary:
        yield "The vocabularies differ; the `table` and `json` formats show where.\n"


def side_row(role: str, side: Side) -> tuple[str, str, str]:
    """Write a side as a row of three cells."""
    told = [cell_code(visible_message(side.source))] if side.source != side.name else []
    told += [prose(side.reason)] if side.reason else []
    told += [f"**{prose(side.caveat)}**"] if side.caveat else []
    told += [f"fingerprint {cell_code(visible_message(side.fingerprint))}"] if side.fingerprint else []
    return role, prose(side.name), "<br>".join(told)


def _overrides(side: Side) -> str:
    shown = [f"- {prose(sentence)}\n" for sentence in side.overrides[:_MOST_OVERRIDES]]
    if len(side.overrides) > _MOST_OVERRIDES:
        shown.append(f"- {len(side.overrides) - _MOST_OVERRIDES:,} more\n")
    return f"{plural(len(side.overrides), 'setting')} taken otherwise than the file declares:\n\n{''.join(shown)}"


def _diagnosis(diagnosis: Diagnosis) -> str:
    tried = plural(diagnosis.tried, "change")
    lines = [
        f"{number}. {prose(effect(explanation, diagnosis))}; {_repair(explanation.repair)}\n"
        for number, explanation in enumerate(diagnosis.explanations, 1)
    ]
    if not lines:
        lines = [f"None of {tried} that were tried makes a failing case match.\n"]
    if diagnosis.stopped_early:
        lines.append(f"\nTime ran out after {tried}.\n")
    return f"### Diagnosis\n\n{''.join(lines)}"


def _repair(repair: Repair) -> str:
    commands = [f"{command.label}: {code(visible_message(str(command)))}" for command in repair.commands]
    return "; ".join(commands) or repair.remark


def suites(report: Report) -> str:
    """Count the cases by suite and status."""
    counts: dict[str, Counter[Status]] = {}
    for result in report.results:
        counts.setdefault(result.case.suite, Counter())[result.status] += 1
    shown = [status for status in Status if report.count(status)]
    rows = [
        (prose(suite), *(f"{found[status]:,}" if found[status] else "" for status in shown))
        for suite, found in counts.items()
    ]
    return table(("suite", *map(str, shown)), rows, right=range(1, len(shown) + 1))


def case(result: CaseResult, *, verbose: bool, more: Iterable[str] = ()) -> str:
    """Write a case, to open on a click; the lines in `more` have passed `visible`."""
    lines = [*more, *description(result)]
    if result.difference:
        lines += alignment_lines(result.difference, other_side(result), fold=not verbose)
    place = f" ({result.case.file}:{result.case.line})" if result.case.file else ""
    return details(f"{result.status} {visible_message(result.name + place)}: {headline(result)}", block(lines, "diff"))


def others(report: Report, *, verbose: bool) -> Iterator[str]:
    """Tell of the cases that did not simply match, and yet do not fail."""
    yield from _by_reason("Known", [(visible_message(known_text(r.known)), r) for r in report.results if r.known])
    if report.baseline:
        yield from _baseline(report.baseline)
    skipped = [(visible_message(r.message or ""), r) for r in report.results if r.status is Status.SKIPPED]
    yield from _by_reason("Skipped", skipped)
    noted = [(visible_message(note), r) for r in report.results if r.status is Status.MATCH for note in r.notes]
    yield from _by_reason("Noted", noted)
    decoded = [("decoded differently by the two sides", r) for r in report.results if r.decode_difference]
    yield from _by_reason("Decoding", decoded)
    if verbose:
        yield from _by_reason("Match", [("", r) for r in report.results if r.status is Status.MATCH])


def _by_reason(label: str, results: list[tuple[str, CaseResult]]) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for reason, result in results:
        names.setdefault(reason, []).append(visible_message(result.name))
    for reason, cases in names.items():
        title = f"{label}, {plural(len(cases), 'case')}{f': {reason}' if reason else ''}"
        yield details(title, block(cases))


def _baseline(baseline: BaselineOutcome) -> Iterator[str]:
    fixed = [visible_message(entry.case) for entry in baseline.fixed]
    if fixed:
        title = f"Fixed: {plural(len(fixed), 'entry', 'entries')} of the baseline can go"
        yield details(title, block(fixed))
    if baseline.not_run:
        count = plural(len(baseline.not_run), "entry", "entries")
        yield details(f"{count} of the baseline not compared", block(visible_message(e.case) for e in baseline.not_run))
