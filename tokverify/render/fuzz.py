"""Describe a report of `tokverify fuzz`: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from xml.etree.ElementTree import Element

from tokverify.render.document import (
    Column,
    Document,
    Fields,
    Inline,
    Line,
    Only,
    Section,
    Style,
    Table,
    bar,
    label_lines,
    message,
    only,
    shorten,
)
from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_sections
from tokverify.render.run.describe import answer_sections, sides_section, vocabulary_sections
from tokverify.render.run.issue import (
    TOKENIZER_CHECKS,
    UNCOMPARED_CHECK,
    case_issue,
    case_suites,
    difference_issues,
    properties_of,
    tokenizer_suites,
    uncompared_issues,
    uncompared_notes,
)
from tokverify.render.run.verdict import count_effects, difference_sections, vocabulary_difference
from tokverify.report.fuzz import DifferenceKind, FuzzReport, Share, Stop, count_compared, fuzz_exit_code
from tokverify.report.run import FAILING, Report
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural, verb

_OUTCOMES = {
    0: ("Nothing found", "no text was found on which the two sides differ"),
    1: ("Failed", "the tokenizers differ, or texts were found on which they do"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C ended the run; the results up to that point are below"),
}
CASE_CHECKS = (
    Check("fuzz-mismatch", "mismatch", "The two sides encode a generated text to different ids.", Level.ERROR),
    Check("fuzz-error", "error", "Only one side can encode a generated text.", Level.ERROR),
    Check(
        "fuzz-decoding", "decoding", "The two sides decode the ids of a generated text to different bytes.", Level.ERROR
    ),
)
"""The ways in which a generated text can fail."""
FINDING_CHECKS = (
    *CASE_CHECKS,
    Check("fuzz-unlisted", "unlisted", "Generated texts do not match, and their causes are not listed.", Level.NOTE),
)
"""The kinds of issues that fuzzing finds."""
FUZZ_CHECKS = (*FINDING_CHECKS, *TOKENIZER_CHECKS, UNCOMPARED_CHECK)
"""The kinds of issues in a report of `tokverify fuzz`."""
_STOPS = {
    Stop.COUNT: "as many as requested",
    Stop.TIME: "until the time limit",
    Stop.COVERAGE: "until the requested coverage was reached",
    Stop.INTERRUPTED: "until interrupted",
    Stop.GONE: "until a side stopped answering",
}


def describe(fuzzed: FuzzReport, options: RenderOptions) -> Document:
    """Describe a run."""
    return Document(
        title=["tokverify fuzz: ", message(fuzzed.report.actual.name)],
        verdict=verdict(fuzzed),
        exit_code=fuzz_exit_code(fuzzed),
        sections=_describe_sections(fuzzed, verbose=options.verbose),
        outcome=_OUTCOMES[fuzz_exit_code(fuzzed)],
        options=fuzzed.report.options,
        versions=fuzzed.report.versions,
    )


def _describe_sections(fuzzed: FuzzReport, *, verbose: bool) -> Iterator[Section]:
    notes = Fields(list(label_lines("note", (message(note, Style.CAVEAT) for note in fuzzed.notes))))
    yield sides_section(fuzzed.report, verbose=verbose)
    if fuzzed.notes:
        yield Section([notes])
    yield from vocabulary_sections(fuzzed.report.vocabulary, verbose=verbose, differences=fuzzed.report.differences)
    yield from difference_sections(fuzzed.report, verbose=verbose)
    yield from tried_sections(fuzzed)
    answer = list(answer_sections(fuzzed.report, verbose=verbose, what="text"))
    yield from only("markdown", answer)
    yield from cause_sections(fuzzed)
    yield from case_sections(fuzzed.report, verbose=verbose, heading="cause")
    yield from only("table", answer)
    if fuzzed.notes:
        # Again, for those who read only the end of a terminal's output.
        yield Section([Only("table", [notes])])


def tried_sections(fuzzed: FuzzReport) -> Iterator[Section]:
    """Describe which texts were tried."""
    tried: list[Line] = [
        ("tried", f"{plural(fuzzed.strings, 'text')}, {_STOPS[fuzzed.stop]}"),
        ("coverage", ", ".join(_coverage_shares(fuzzed))),
    ]
    yield Section([Fields(tried)])
    yield Section([_tabulate_generators(fuzzed)])


def _tabulate_generators(fuzzed: FuzzReport) -> Table:
    rows: list[list[Inline]] = []
    for name, tally in fuzzed.generators.items():
        failing: Inline = message("-", Style.DIM)
        if tally.failing:
            failing = bar(f"{tally.failing:,}", tally.failing, tally.strings, Style.ACTUAL)
        rows.append([message(name), f"{tally.strings:,}", failing])
    return Table([Column("generator"), Column("texts", is_number=True), Column("fail", is_number=True)], rows)


def cause_sections(fuzzed: FuzzReport) -> Iterator[Section]:
    """Describe how many texts show each cause, the most frequent first."""
    if not fuzzed.causes:
        return
    most = max(cause.strings for cause in fuzzed.causes)
    found = sorted(zip(fuzzed.causes, fuzzed.report.results, strict=True), key=lambda pair: -pair[0].strings)
    rows: list[list[Inline]] = [
        [
            message(result.case.name),
            bar(f"{cause.strings:,}", cause.strings, most, Style.ACTUAL),
            shorten(result.case.text),
            message(cause.generator),
        ]
        for cause, result in found
    ]
    columns = [Column("cause"), Column("texts", is_number=True), Column("minimal text"), Column("first found by")]
    yield Section([Only("markdown", [Table(columns, rows)])], "Causes")


def to_ci_report(fuzzed: FuzzReport) -> CiReport:
    """Return what CI systems show of a run."""
    return CiReport(
        issues=fuzz_issues(fuzzed),
        checks=FUZZ_CHECKS,
        skipped=[*uncompared_notes(fuzzed.report), *map(visible_message, fuzzed.notes)],
        properties=properties_of(fuzzed.report, verdict(fuzzed)),
        suites=partial(_suites, fuzzed.report),
        tested={check.id for check in (*CASE_CHECKS, *TOKENIZER_CHECKS, UNCOMPARED_CHECK)},
    )


def _suites(report: Report, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield a suite on how the tokenizers differ, and a suite with a test for each cause."""
    yield from tokenizer_suites(report, properties)
    yield from case_suites(report, properties)


def fuzz_issues(fuzzed: FuzzReport) -> Iterator[Issue]:
    """Yield the findings, how the tokenizers differ, and what was not compared if that makes the run fail."""
    yield from finding_issues(fuzzed, fuzzed.report.actual.source)
    yield from difference_issues(fuzzed.report)
    if fuzzed.report.fails_uncompared:
        yield from uncompared_issues(fuzzed.report)


def finding_issues(fuzzed: FuzzReport, path: str, more: Sequence[str] = ()) -> Iterator[Issue]:
    """Yield the findings, located at `path`, as generated texts are in no file.

    The lines in `more`, which have passed `visible`, are added to each.
    """
    report = fuzzed.report
    failing = [result for result in report.results if result.status in FAILING]
    yield from (case_issue(result, report, "fuzz", path=path, more=more) for result in failing)
    if fuzzed.unlisted:
        do = "does" if fuzzed.unlisted == 1 else "do"
        yield Issue(
            check="fuzz-unlisted",
            # Unlisted texts may have been skipped; without listed causes, they are the only trace of a failure.
            level=Level.ERROR if fuzzed.failing and not failing else Level.NOTE,
            title="not listed",
            message=f"{plural(fuzzed.unlisted, 'text')} that {do} not match: the cause is not listed;"
            " fix the listed causes, then fuzz again",
            path=path,
            key=report.actual.name,
        )


def verdict(fuzzed: FuzzReport) -> str:
    """Summarize a run, such as `3,000 texts: 310 fail, 2 causes`."""
    causes = [cause for cause in fuzzed.causes if cause.kind is not DifferenceKind.SKIPPED]
    found = "nothing found"
    if fuzzed.failing:
        found = f"{fuzzed.failing:,} {verb(fuzzed.failing, 'fail')}"
        if causes:
            found += f", {plural(len(causes), 'cause')}"
    parts = [f"{plural(fuzzed.strings, 'text')}: {found}"]
    parts += _count_explained(fuzzed)
    if fuzzed.unlisted:
        parts.append(f"the cause of {plural(fuzzed.unlisted, 'text')} is not listed")
    if fuzzed.skipped:
        parts.append(f"{fuzzed.skipped:,} skipped")
    if differences := count_effects(fuzzed.report):
        parts.append(differences)
    elif vocabularies := vocabulary_difference(fuzzed.report.vocabulary):
        parts.append(vocabularies)
    if fuzzed.report.fails_uncompared:
        parts.append("failing because not everything was compared")
    if not count_compared(fuzzed):
        parts.append("nothing was compared")
    if ended := {Stop.INTERRUPTED: "interrupted", Stop.GONE: f"incomplete: {fuzzed.gone}"}.get(fuzzed.stop):
        parts.append(ended)
    return "; ".join(parts)


def _count_explained(fuzzed: FuzzReport) -> list[str]:
    if not fuzzed.explained:
        return []
    differs = verb(fuzzed.explained, "differ")
    codes = ", ".join(limit.code for limit in fuzzed.report.limits)
    return [f"{fuzzed.explained:,} {differs} only because of limits of llama.cpp ({codes})"]


def _coverage_shares(fuzzed: FuzzReport) -> Iterator[str]:
    """Yield each kind of coverage, such as `64.6% of 2,000 pieces`."""
    pieces, merges = fuzzed.coverage.pieces, fuzzed.coverage.merges
    if not pieces.total:
        yield "not known: neither tokenizer lists its tokens"
        return
    yield f"{percent(pieces)} of {plural(pieces.total, 'piece')}"
    if merges:
        yield f"{percent(merges)} of {plural(merges.total, 'merge')}"


def percent(share: Share) -> str:
    """Format a share as a percentage, rounded down: 100% means all."""
    per_mille = 1000 * share.done // share.total if share.total else 1000
    return f"{per_mille / 10:.1f}%"
