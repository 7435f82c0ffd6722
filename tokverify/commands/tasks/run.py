"""Verify a model against its reference, or against what the cases themselves expect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tokverify.case import Case
from tokverify.cases.loading import cases_or_shipped
from tokverify.commands.tasks.opening import (
    ReferenceSource,
    SubjectSource,
    open_reference,
    open_reference_beside,
    open_subject,
)
from tokverify.compare.baseline import Baseline
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.expectation import expect_of, expect_side
from tokverify.compare.opened import Opened, OpenedModel, OpenedReference, python_version
from tokverify.engine.requirement import describe_changes_between
from tokverify.errors import GoneError
from tokverify.location import Location
from tokverify.references.location import EXPECT
from tokverify.report.run import Report, count_decode_differences, failing_differences, has_failing_case
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import FAIL_ON

OnProgress = Callable[[int, int], None]
"""Called with the number of cases done and the number of all cases."""


def verify_model(  # noqa: PLR0913 - the optional ones are keywords
    model: SubjectSource,
    reference: ReferenceSource = None,
    cases: Iterable[Case] | None = None,
    *,
    baseline: Baseline | Path | str | None = None,
    max_failures: int | None = None,
    fail_on: Sequence[str] = FAIL_ON,
    strict: bool = False,
    explain: bool = True,
    diagnose: bool = False,
    thorough: bool = False,
    options: Mapping[str, object] | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Verify a model's tokenizer against a reference.

    Args:
        model: The tokenizer under test: a file, or the location of any other tokenizer. Only a file is diagnosed.
        reference: The tokenizer to compare with, or `expect` to compare with what the cases expect. If None, a
            reference is looked for: only beside the model if every case expects something of it, which may suffice.
        cases: The texts to encode; the shipped cases by default.
        baseline: Known failures, or the file that lists them.
        max_failures: Stop after this many failing cases; None to run all.
        fail_on: Differences between the tokenizers themselves that fail: the lowest severity (`error`, `warning` or
            `info`), aspects such as `decoding`, and `not-compared`.
        strict: Let the run fail even if limits of llama.cpp explain all cases that differ.
        explain: Whether limits of llama.cpp may explain cases that differ; not if the reference is an engine under
            test, which should do as llama.cpp does.
        diagnose: If cases or the tokenizers themselves differ, search for the cause and record it in the report.
        thorough: Let the diagnosis try much more before it gives up.
        options: The options to record in the report.
        on_progress: Called after each case.

    Returns:
        The report, with a result for each case.

    Raises:
        TokverifyError: If a file cannot be read, or no reference is found.
    """
    known = Baseline.load(Path(baseline)) if isinstance(baseline, str | Path) else baseline
    opened = open_subject(model)
    cases = cases_or_shipped(cases)
    compare = partial(
        verify_tokenizers,
        opened.tokenizer,
        cases=cases,
        baseline=known,
        max_failures=max_failures,
        fail_on=fail_on,
        strict=strict,
        explain=explain,
        on_progress=on_progress,
    )
    versions: Mapping[str, str]
    other = find_other_side(opened, reference, cases)
    if isinstance(other, Side):
        found, versions = None, python_version()
        report = compare(expected=None, sides=(opened.description, other))
    else:
        found, versions = other, other.versions
        report = compare(
            expected=found.tokenizer,
            sides=(opened.description, found.description),
            facts=found,
        )
    if isinstance(opened, OpenedModel) and not report.gone:
        from tokverify.commands.tasks.own_rules import add_rule_findings

        compared, report = report, add_rule_findings(report, opened, found)
        report = known.apply(report) if known and report is not compared else report
    versions = {**report.versions, **opened.versions, **versions}
    report = replace(report, options=dict(options or {}), versions=versions)
    is_differing = has_failing_case(report) or failing_differences(report) or count_decode_differences(report)
    if report.gone or not diagnose or not is_differing:
        return report
    if isinstance(opened, OpenedReference):
        return replace(report, undiagnosed=explain_missing_diagnosis(opened))
    try:
        return _diagnose(report, opened, found, thorough=thorough)
    except GoneError as error:
        return replace(report, undiagnosed=str(error), gone=str(error))


def _show_in_notebook(report: Report) -> str:
    from tokverify.render.notebook import draw_notebook

    return draw_notebook(report)


def _sum_up(report: Report) -> str:
    from tokverify.render.run.verdict import verdict

    return f"<Report: {verdict(report)}>"


# IPython looks for the first, and all data of a report would fill many screens; but `report/` cannot draw.
setattr(Report, "_repr_html_", _show_in_notebook)  # noqa: B010 - the class does not declare it
setattr(Report, "__repr__", _sum_up)  # noqa: B010 - likewise


def explain_missing_diagnosis(model: OpenedReference) -> str:
    """Say why failures of this tokenizer cannot be diagnosed."""
    return (
        f"{model.tokenizer.name} cannot be changed, so no change to it can be tried; "
        "compare the file that it was made from to get a diagnosis"
    )


def _diagnose(report: Report, model: OpenedModel, reference: OpenedReference | None, *, thorough: bool) -> Report:
    """Search for the cause of the failures, and record it with the change that repairs it."""
    from tokverify.references.discovery import find_beside
    from tokverify.repair.budget import ENCODINGS, THOROUGH
    from tokverify.repair.fix.other_reference import find_other_version
    from tokverify.repair.repair import find_repair

    if reason := _excuse(model, reference):
        return replace(report, undiagnosed=reason)
    if reference and has_failing_case(report) and not reference.found.reads_model:
        others = find_beside(model.file, reference.found)
        cases = [result.case for result in report.results]
        if doubt := find_other_version(model.path, model.encoder, reference, others, cases):
            return replace(report, undiagnosed=doubt)
    encodings = THOROUGH if thorough else ENCODINGS
    return find_repair(report, model.declaration, model.encoder, reference or Opened(None), encodings=encodings)


def _excuse(model: OpenedModel, reference: OpenedReference | None) -> str:
    """Say why another build or program gives other ids of the same file; empty for any other reference."""
    if reference is None or not reference.found.reads_model or reference.is_rebuilt:
        return ""
    build = reference.found.build
    if build and (changes := describe_changes_between(model.spec, model.encoder.settings, build)):
        return f"{changes}; another build is no fault of the file"
    return f"{reference.tokenizer.name} reads the same file in its own way, which is no fault of the file"


def names_expected(reference: ReferenceSource) -> bool:
    """Whether a reference is what the cases expect."""
    return (reference.text if isinstance(reference, Location) else reference) == EXPECT


def find_other_side(
    model: OpenedModel | OpenedReference, reference: ReferenceSource, cases: Sequence[Case]
) -> OpenedReference | Side:
    """Return the reference, or the description of what the cases expect if they are compared with that.

    Raises:
        TokverifyError: As for `open_reference`.
    """
    if names_expected(reference):
        return expect_side(cases)
    if reference is None and all(expect_of(case, model.description) is not None for case in cases):
        return open_reference_beside(model) or expect_side(cases, model.description)
    return open_reference(model, reference)


class RunResult(NamedTuple):
    """A report, and the other files to write together with it."""

    report: Report
    files: Mapping[Path, Callable[[], str]]


def update_baseline(report: Report, path: Path, reason: str | None) -> RunResult:
    """Apply to a report the baseline that accepts all its failures, and prepare writing that baseline.

    Raises:
        TokverifyError: If there are new failures and no reason.
    """
    updated = Baseline.load(path, missing_ok=True).update(report, reason)
    writes = bool(updated.entries) or path.exists()
    return RunResult(updated.apply(report), {path: partial(_render_update, report, path, reason)} if writes else {})


def _render_update(report: Report, path: Path, reason: str | None) -> str:
    """Update what the file contains by now, since the run of another model may have updated it in the meantime."""
    from tokverify.compare.baseline_writer import render_baseline

    return render_baseline(Baseline.load(path, missing_ok=True).update(report, reason), path.suffix)
