"""Describe a verified corpus: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tokverify.render.case_text import headline, result_alignment
from tokverify.render.document import (
    Column,
    Document,
    Fields,
    Heading,
    Inline,
    Line,
    Only,
    Section,
    Style,
    Table,
    bar,
    label_lines,
    message,
    tally,
)
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of, join_lines
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_details
from tokverify.render.run.describe import diagnosis_sections, limit_sections, sides_section, vocabulary_sections
from tokverify.render.run.issue import VOCABULARY_CHECK, properties_of, vocabulary_issues
from tokverify.report.corpus import (
    CauseCount,
    CorpusCause,
    CorpusExample,
    CorpusProgress,
    CorpusReport,
    GroupCount,
    UnreadableGroup,
    corpus_exit_code,
)
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_items, percentage, plural, verb

_OUTCOMES = {
    0: (
        "Passed",
        "all documents compared agree, or no more differ than limits of llama.cpp explain and you accept",
    ),
    1: ("Failed", "more documents differ than accepted"),
    2: ("Incomplete", "something could not be read, or was not compared"),
}
_MAX_ROWS = 20
_MAX_PLACES = 3
_UNREADABLE = Check("corpus-unreadable", "unreadable", "Documents could not be compared.", Level.ERROR)
_CORPUS_CHECKS = (
    Check("corpus-difference", "difference", "The two sides encode documents to different ids.", Level.ERROR),
    _UNREADABLE,
    VOCABULARY_CHECK,
)
"""The kinds of issues in a report of `tokverify corpus`."""
_UNITS = ("kB", "MB", "GB", "TB", "PB")


def describe(verified: CorpusReport, options: RenderOptions) -> Document:
    """Describe a verified corpus; with `verbose`, every source and script."""
    return Document(
        title=["tokverify corpus: ", message(verified.report.actual.name)],
        verdict=verdict(verified),
        exit_code=corpus_exit_code(verified),
        sections=_describe_sections(verified, verbose=options.verbose),
        outcome=_OUTCOMES[corpus_exit_code(verified)],
        options=verified.report.options,
        versions=verified.report.versions,
    )


def _describe_sections(verified: CorpusReport, *, verbose: bool) -> Iterator[Section]:
    notes = Fields(list(label_lines("note", (message(note, Style.CAVEAT) for note in verified.notes))))
    yield sides_section(verified.report, verbose=verbose)
    if verified.notes:
        yield Section([notes])
    yield from vocabulary_sections(verified.report.vocabulary, verbose=verbose)
    yield Section([Fields(list(_count_lines(verified)))])
    if verified.unreadable_groups:
        yield Section([_tabulate_unreadable(verified)])
    if verified.causes:
        causes = [(cause.cause, cause.documents, cause.meaning) for cause in verified.causes]
        yield Section([tabulate_causes("documents", causes, verified.differing, verified.documents)])
    yield from limit_sections(verified.report, "document")
    for heading, groups in (("source", verified.sources), ("script", verified.scripts)):
        if groups:
            yield Section([_tabulate_groups(heading, groups, verbose=verbose)])
    yield from diagnosis_sections(verified.report, verbose=verbose)
    if verified.examples:
        yield Section([Only("html", [Heading("Examples")])])
    examples = zip(verified.examples, verified.report.results, strict=True)
    for example, result in examples:
        yield Section([case_details(result, verbose=verbose, more=list(_example_lines(example)))])
    if verified.notes and verified.examples:
        # Again, for those who read only the end of a terminal's output.
        yield Section([Only("table", [notes])])


def _count_lines(verified: CorpusReport) -> Iterator[Line]:
    yield "compared", f"{plural(verified.documents, 'document')}, {format_bytes(verified.bytes)}"
    yield "tokens", f"{verified.actual_tokens:,} in actual, {verified.expected_tokens:,} in expected"
    yield from label_lines("coverage", _list_coverage(verified))
    if verified.throughput:
        seconds = verified.throughput.busy_seconds
        rate = f"{format_bytes(round(verified.bytes / seconds))}/s per worker" if seconds > 0 else "too fast to measure"
        yield "throughput", f"{rate}, {seconds:.1f} s of work"


def tabulate_causes(what: str, causes: Iterable[tuple[str, int, str]], differing: int, whole: int) -> Table:
    """Show why some of `what` differ: each cause, how many of them and which share show it, and what it means."""
    rows: list[list[Inline]] = [
        [
            message(cause, Style.STRONG),
            bar(f"{count:,}", count, differing, Style.ACTUAL),
            percentage(count, whole),
            message(meaning),
        ]
        for cause, count, meaning in causes
    ]
    numbers = [Column(name, is_number=True) for name in (what, "share")]
    return Table([Column("cause"), *numbers, Column("meaning")], rows)


def _tabulate_unreadable(verified: CorpusReport) -> Table:
    rows: list[list[Inline]] = [
        [f"{group.count:,}", message(group.reason, Style.ACTUAL), message(list_items(group.places, _MAX_PLACES))]
        for group in verified.unreadable_groups
    ]
    return Table([Column("unreadable", is_number=True), Column("reason"), Column("first at")], rows)


def _tabulate_groups(heading: str, groups: Sequence[GroupCount], *, verbose: bool) -> Table:
    """List groups; of very many, those with the most documents that differ or cannot be read."""
    worst = sorted(groups, key=lambda group: (group.differing + group.unreadable, group.documents), reverse=True)
    shown = groups if verbose or len(groups) <= _MAX_ROWS + 1 else worst[:_MAX_ROWS]
    rows: list[list[Inline]] = [
        [
            message(group.name),
            f"{group.documents:,}",
            _count_differing(group),
            tally(group.unreadable, Style.ACTUAL),
        ]
        for group in shown
    ]
    left_out = len(groups) - len(shown)
    columns = [Column(heading), *(Column(name, is_number=True) for name in ("documents", "differ", "unreadable"))]
    return Table(columns, rows, f"{left_out:,} more, shown with -v" if left_out else "")


def _count_differing(group: GroupCount) -> Inline:
    """Show how many documents differ, with a bar for their share."""
    if not group.differing:
        return message("-", Style.DIM)
    return bar(f"{group.differing:,}", group.differing, group.documents, Style.ACTUAL)


def _example_lines(example: CorpusExample) -> Iterator[Line]:
    origin = "shrunk from" if example.shrunk else "found in"
    yield "document", message(f"{origin} {example.place}")
    if example.judgment:
        yield "judge", message(example.judgment, Style.NOTICE)


def to_ci_report(verified: CorpusReport) -> CiReport:
    """Return what CI systems show of a verified corpus."""
    return CiReport(
        issues=corpus_issues(verified),
        checks=_CORPUS_CHECKS,
        skipped=map(visible_message, verified.notes),
        properties=properties_of(verified.report, verdict(verified)),
    )


def corpus_issues(verified: CorpusReport) -> Iterator[Issue]:
    """Yield the issues, located at the model's file, because documents are rarely in the repository."""
    accepted = verified.failing <= verified.max_differences
    for cause in verified.causes:
        is_limit = cause.cause is CorpusCause.LIMIT and not verified.strict
        yield _cause_issue(cause, verified, Level.NOTE if accepted or is_limit else Level.ERROR)
    for group in verified.unreadable_groups:
        yield _unreadable_issue(group, verified)
    yield from vocabulary_issues(verified.report)


def _cause_issue(cause: CauseCount, verified: CorpusReport, level: Level) -> Issue:
    return Issue(
        check="corpus-difference",
        level=level,
        title=f"difference: {cause.cause}",
        message=join_lines([describe_cause(cause, verified), *_issue_lines(cause, verified)]),
        path=verified.report.actual.source,
        key=f"{verified.report.actual.name}\0{cause.cause}",
    )


def _issue_lines(cause: CauseCount, verified: CorpusReport) -> Iterator[str]:
    """Yield the examples of a cause: where each was found, its text, what the judge says, and both tokenizations."""
    for example, result in zip(verified.examples, verified.report.results, strict=True):
        if example.case in cause.cases:
            judgment = f" ({visible_message(example.judgment)})" if example.judgment else ""
            yield f"{visible_message(example.place)}: {headline(result)}{judgment}"
            yield from result_alignment(result)


def _unreadable_issue(group: UnreadableGroup, verified: CorpusReport) -> Issue:
    reason = visible_message(group.reason)
    lines = [f"{plural(group.count, 'document')}: {reason}", *map(visible_message, group.places)]
    model = verified.report.actual
    return issue_of(_UNREADABLE, lines, path=model.source, key=f"{model.name}\0{reason}")


def describe_progress(progress: CorpusProgress) -> str:
    """Return a few lines about a run."""
    done, total = progress.file_bytes.done, progress.file_bytes.total
    lines = [
        f"{progress.units.done:,} of {plural(progress.units.total, 'unit')} done"
        f" ({percentage(done, total, 0)} of {format_bytes(total)})",
        f"{plural(progress.documents, 'document')} compared, {format_bytes(progress.bytes)} of text",
        describe_differences(progress),
    ]
    if progress.busy_seconds:
        rate = format_bytes(round(progress.bytes / progress.busy_seconds))
        lines.append(f"{rate} of text per second and worker")
    return "\n".join(lines)


def describe_differences(progress: CorpusProgress) -> str:
    """Return what has been found so far, in one line."""
    counts = ", ".join(f"{cause} {count:,}" for cause, count in progress.causes.items())
    causes = f" ({counts})" if counts else ""
    parts = [f"{plural(progress.differing, 'document')} {verb(progress.differing, 'differ')}{causes}"]
    if progress.unreadable:
        parts.append(f"{progress.unreadable:,} unreadable")
    return ", ".join(parts)


def progress_to_json(progress: CorpusProgress, seconds: float | None = None) -> str:
    """Return a line of JSON; `seconds` is the time since the start of the command, if it is running."""
    fields = msgspec.to_builtins(progress)
    if seconds is not None:
        fields["seconds"] = round(seconds, 3)
    return msgspec.json.encode(fields).decode()


def verdict(verified: CorpusReport) -> str:
    """Sum up a report, such as `12,000 documents, 1.2 MB: 3 differ, 2 causes`."""
    found = "all agree"
    if verified.differing:
        found = f"{verified.differing:,} {verb(verified.differing, 'differ')}, {_count_causes(verified)}"
    if not verified.documents:
        found = "nothing was compared"
    parts = [f"{plural(verified.documents, 'document')}, {format_bytes(verified.bytes)}: {found}"]
    if verified.differing and verified.max_differences:
        parts.append(f"up to {verified.max_differences:,} are accepted")
    return "; ".join([*parts, *_reservations(verified)])


def _count_causes(verified: CorpusReport) -> str:
    """Count the causes; those that limits explain completely are counted as documents."""
    others = [cause for cause in verified.causes if cause.cause is not CorpusCause.LIMIT]
    parts = [plural(len(others), "cause")] if others or not verified.explained else []
    if verified.explained:
        codes = list_items([limit.code for limit in verified.report.limits])
        count = f"{verified.explained:,}" if others else "all"
        parts.append(f"{count} only because of limits of llama.cpp ({codes})")
    return ", ".join(parts)


def _reservations(verified: CorpusReport) -> Iterator[str]:
    """Yield what people must know who read nothing but the verdict."""
    if verified.missing:
        null = f" ({verified.null:,} are null; --allow-null accepts them)" if verified.null else ""
        yield f"{verified.missing:,} could not be verified{null}"
    if verified.allow_null and verified.null:
        yield f"{plural(verified.null, 'row')} without a value, which you accept"
    if verified.remaining_bytes:
        yield f"{format_bytes(verified.remaining_bytes)} remain to be verified"
    if verified.shard:
        yield f"only shard {verified.shard}"
    if verified.sampled_out:
        yield f"a sample: {plural(verified.sampled_out, 'other document')} were left out"


def format_bytes(size: int) -> str:
    """Write a size with a decimal unit, such as `1.2 MB`."""
    if size < 1000:  # noqa: PLR2004 - the step from one unit to the next
        return plural(size, "byte")
    value = float(size)
    for unit in _UNITS:
        value /= 1000
        if value < 999.95 or unit == _UNITS[-1]:  # noqa: PLR2004 - what would be written as 1000.0
            break
    return f"{value:,.1f} {unit}"


def describe_cause(cause: CauseCount, verified: CorpusReport) -> str:
    """Write how many documents show a cause, such as `3 documents (0.02%): BOS is missing at the beginning`.

    The result has passed `visible`.
    """
    share = percentage(cause.documents, verified.documents)
    return f"{plural(cause.documents, 'document')} ({share}): {visible_message(cause.meaning)}"


def _list_coverage(verified: CorpusReport) -> Iterator[str]:
    """Yield what the documents exercised, and how much of it."""
    coverage = verified.coverage
    if coverage is None:
        return
    for name, share in (("tokens", coverage.vocabulary.pieces), ("merges", coverage.vocabulary.merges)):
        if share:
            yield f"{name}: {share.done:,} of {share.total:,} ({percentage(share.done, share.total)})"
    if coverage.branches:
        alternatives = plural(len(coverage.branches), "alternative")
        is_sample = coverage.sampled < verified.documents
        where = f" in a sample of {plural(coverage.sampled, 'document')}" if is_sample else ""
        yield f"pre-tokenizer: {alternatives} matched{where}"
    if coverage.script_pairs:
        yield f"scripts: {plural(len(coverage.script_pairs), 'pair')} met"
