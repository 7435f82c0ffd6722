"""Describe a report of `tokverify versions`: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from tokverify.render.document import Column, Document, Inline, Section, Span, Style, Table, code, exact, message
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of
from tokverify.render.options import RenderOptions
from tokverify.render.run.verdict import verdict as run_verdict
from tokverify.report.run import failing_differences, has_failing_case, run_exit_code
from tokverify.report.versions import Dispute, Outcome, TriedVersion, VersionsReport, find_disputes, versions_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural, truncate, verb

_OUTCOMES = {
    0: ("Passed", "the model agrees with every version"),
    1: ("Failed", "the model differs from a version"),
    2: ("Not compared", "a version could not be tried"),
}
_SHOWN = 20
_MAX_IDS = 8
_MAX_TEXT = 30
_MAX_ERROR = 160
_BEFORE = 2
_INSTALLED = "installed"
_DIFFERENT = Check("version-different", "different", "The model differs from the reference.", Level.ERROR)
_FAILED = Check("version-error", "error", "A version could not be tried.", Level.ERROR)


def describe(report: VersionsReport, options: RenderOptions) -> Document:
    """Describe a report; with `verbose`, all cases that differ, all of their ids, and whole reasons."""
    return Document(
        title=["tokverify run: " if report.varies_reference else "tokverify versions: ", message(report.model.name)],
        verdict=verdict(report),
        exit_code=versions_exit_code(report),
        sections=_sections(report, verbose=options.verbose),
        outcome=_OUTCOMES[versions_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def verdict(report: VersionsReport) -> str:
    """Sum up a report, such as `sample: the same ids with 2 of 3 versions; tokenizers==0.9.0 differs`."""
    differing = [_name_of(tried) for tried in report.tried if tried.run and has_failing_case(tried.run)]
    failed = [_name_of(tried) for tried in report.tried if tried.error]
    passing = [(_name_of(tried), tried.run) for tried in report.tried if tried.run and not has_failing_case(tried.run)]
    unlike = [name for name, run in passing if failing_differences(run)]
    limited = [name for name, run in passing if run.limits]
    equal = len(report.tried) - len(differing) - len(limited) - len(failed)
    parts = [f"{report.model.name}: the same ids with {equal:,} of {plural(len(report.tried), _noun(report))}"]
    if differing:
        parts.append(f"{', '.join(differing)} {verb(len(differing), 'differ')}")
    if limited:
        parts.append(f"{', '.join(limited)} {verb(len(limited), 'differ')} only by limits of llama.cpp")
    if unlike:
        parts.append(f"compared with {', '.join(unlike)}, the tokenizers themselves differ")
    if failed:
        parts.append(f"{', '.join(failed)} could not be tried")
    return "; ".join(parts)


def _noun(report: VersionsReport) -> str:
    return "reference" if report.varies_reference else "version"


def _name_of(tried: TriedVersion) -> str:
    """Return what people call a version: the requested packages, or the installed library."""
    if tried.environment:
        return tried.environment
    library = _library(tried)
    return f"{library} ({_INSTALLED})" if library else _INSTALLED


def _library(tried: TriedVersion) -> str:
    """Return the library that loaded the reference, with its version."""
    versions = tried.run.versions if tried.run else {}
    libraries = [f"{name} {versions[name]}" for name in ("tokenizers", "transformers") if name in versions]
    return ", ".join(libraries)


def _sections(report: VersionsReport, *, verbose: bool) -> Iterator[Section]:
    titles = (_noun(report), "loaded with", "compared with the model")
    columns = [Column("", is_number=True), *map(Column, titles)]
    rows = [_describe_version(number, tried, verbose=verbose) for number, tried in enumerate(report.tried, start=1)]
    yield Section([Table(columns, rows)], f"{_noun(report)}s".capitalize())
    disputes = list(find_disputes(report))
    if not disputes:
        return
    shown = disputes if verbose else disputes[:_SHOWN]
    rows = [row for dispute in shown for row in _describe_dispute(dispute, verbose=verbose)]
    left_out = len(disputes) - len(shown)
    note = f"{plural(left_out, 'more case')}, shown with -v" if left_out else ""
    yield Section([Table([Column("case"), Column("ids"), Column(_noun(report))], rows, note)], "Different ids")


def _describe_version(number: int, tried: TriedVersion, *, verbose: bool) -> Sequence[Inline]:
    error = tried.error if verbose else truncate(tried.error, _MAX_ERROR)
    outcome = run_verdict(tried.run) if tried.run else error
    style = Style.BAD if tried.run is None or run_exit_code(tried.run) else Style.PLAIN
    version = code(tried.environment) if tried.environment else _INSTALLED
    return [str(number), version, message(_library(tried)), message(outcome, style)]


def _describe_dispute(dispute: Dispute, *, verbose: bool) -> Iterator[Sequence[Inline]]:
    start = 0 if verbose else _common_start(dispute)
    limit = max(len(outcome.ids) for outcome in dispute.outcomes) if verbose else _MAX_IDS
    text = dispute.text if len(dispute.text) <= _MAX_TEXT else f"{dispute.text[:_MAX_TEXT]}..."
    for number, outcome in enumerate(dispute.outcomes):
        name: Inline = message(dispute.name) if number == 0 else exact(text) if number == 1 else ""
        # By their numbers in the table of versions.
        producers = ["model"] * outcome.is_of_model + [str(index + 1) for index in outcome.versions]
        yield [name, _show_ids(outcome, start, limit), ", ".join(producers)]


def _common_start(dispute: Dispute) -> int:
    """Return at which id to start, so that the first difference is shown."""
    columns = zip(*(outcome.ids for outcome in dispute.outcomes if not outcome.message), strict=False)
    equal = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))
    return max(0, equal - _BEFORE)


def _show_ids(outcome: Outcome, start: int, limit: int) -> Inline:
    if outcome.message:
        return message(outcome.message, Style.BAD)
    shown = " ".join(map(str, outcome.ids[start : start + limit]))
    before = "... " if start else ""
    after = " ..." if len(outcome.ids) > start + limit else ""
    return Span(f"{before}{shown}{after}" or "none", is_code=bool(outcome.ids))


def to_ci_report(report: VersionsReport) -> CiReport:
    """Return what CI systems show of several versions."""
    return CiReport(
        issues=_issues(report),
        checks=(_DIFFERENT, _FAILED),
        properties={"model": report.model.source},
    )


def _issues(report: VersionsReport) -> Iterator[Issue]:
    """Yield an issue for each version that differs or could not be tried; a version is one test."""
    disputes = list(find_disputes(report))
    for index, tried in enumerate(report.tried):
        name = _name_of(tried)
        if tried.run is None:
            yield _issue(_FAILED, name, [tried.error], report)
        elif run_exit_code(tried.run):
            concerned = [dispute.name for dispute in disputes if index not in dispute.outcomes[0].versions]
            yield _issue(_DIFFERENT, name, [run_verdict(tried.run), *concerned], report)


def _issue(check: Check, name: str, lines: list[str], report: VersionsReport) -> Issue:
    shown = list(map(visible_message, lines))
    shown[0] = f"{visible_message(name)}: {shown[0]}"
    return issue_of(check, shown, path=report.model.source, key=f"{report.model.name}\0{name}")
