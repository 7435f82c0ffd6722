"""Describe a repair: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from tokverify.render.document import CommandLine, Document, Fields, Line, Section, Style, code, label_lines, message
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of
from tokverify.render.options import RenderOptions
from tokverify.render.run.verdict import effect
from tokverify.report.diagnosis import Command, Explanation
from tokverify.report.fix import (
    FINDINGS,
    MINOR_ROLES,
    UNCONFIRMED,
    FileRepair,
    FixReport,
    OtherReference,
    Verification,
    fix_exit_code,
    left_of,
    remaining,
)
from tokverify.text.command_line import fill_in, quote_argument
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural, verb

_OUTCOMES = {
    0: ("Repaired", "every comparison with the reference agrees, apart from limits of llama.cpp"),
    1: ("Not repaired", "a comparison with the reference still finds a difference"),
}
_SET_TYPES = (
    "import gguf; t = gguf.GGUFReader({file}, 'r+').fields['tokenizer.ggml.token_type']; "
    "[t.parts[t.data[i]].fill(v) for a, b, v in {ranges} for i in range(a, b + 1)]"
)
"""A Python program that sets types in place; `{ranges}` contains only numbers."""
_PARTS = {"tokenizer.ggml.tokens": "text", "tokenizer.ggml.token_type": "type", "tokenizer.ggml.scores": "score"}
_CASES = Check("fix-cases", "cases", "Cases fail in the file that is left.", Level.ERROR)
_DIFFERENCES = Check("fix-differences", "differences", "A comparison finds differences.", Level.ERROR)
_INFERRED = Check("fix-inferred", "not verified", "Tokens were changed by inference.", Level.ERROR)
_OTHER = Check("fix-other-reference", "other reference", "Another tokenizer contradicts the reference.", Level.WARNING)


def describe(report: FixReport, options: RenderOptions) -> Document:
    """Describe a repair.

    Without a file to write, or with `verbose`, this includes commands that do the same without tokverify; with
    `verbose`, also checks that find nothing.
    """
    return Document(
        title=["tokverify fix: ", message(report.source)],
        verdict=verdict(report),
        exit_code=fix_exit_code(report),
        sections=_describe_sections(report, verbose=options.verbose),
        outcome=_describe_outcome(report),
    )


def _describe_outcome(report: FixReport) -> tuple[str, str]:
    word, meaning = _OUTCOMES[fix_exit_code(report)]
    return word if report.repair or fix_exit_code(report) else "Nothing to repair", meaning


def _describe_sections(report: FixReport, *, verbose: bool) -> Iterator[Section]:
    commands = list(_list_commands(report.repair, report)) if report.repair and (verbose or not report.target) else []
    yield Section([Fields(list(_describe_plan(report, verbose=verbose))), *commands])
    if report.after:
        yield Section([Fields(list(_describe_result(report, report.after, verbose=verbose)))])
    if report.needs:
        yield Section([Fields([("needs", message(report.needs, Style.CAVEAT))])])


def _describe_plan(report: FixReport, *, verbose: bool) -> Iterator[Line]:
    yield "before", _format_counts(report.before)
    if report.before.refusal:
        yield "", message(f"cannot be verified: {report.before.refusal}")
    else:
        yield from _format_checks({check.name: check.before for check in report.checks}, verbose=verbose)
    cause = _cause(report)
    if report.diagnosis and cause:
        yield "cause", message(effect(cause, report.diagnosis))
    if report.repair is None:
        yield "repair", _explain_no_repair(report)
    else:
        yield from _describe_repair(
            report.repair, is_cause=cause is not None and cause.sentence == report.repair.sentence
        )
    if report.stopped_early:
        raised = ", even with --thorough" if report.is_thorough else "; --thorough raises it"
        yield "limit", f"reached before everything was tried{raised}"
    yield from (("warning", message(_describe_other(other), Style.CAVEAT)) for other in report.others)


def _cause(report: FixReport) -> Explanation | None:
    return next(iter(report.diagnosis.explanations), None) if report.diagnosis else None


def _describe_repair(repair: FileRepair, *, is_cause: bool) -> Iterator[Line]:
    keys = f"writes {', '.join(repair.keys)}"
    lines = [keys] if is_cause else [repair.sentence, keys]
    if repair.changed_tokens:
        parts = " or ".join(part for key, part in _PARTS.items() if key in repair.keys)
        lines.append(f"changes the {parts} of {plural(repair.changed_tokens, 'token')}")
    if repair.inferred_tokens:
        lines.append(f"of which {repair.inferred_tokens:,} are inferred from similar tokens and not verified")
    yield from label_lines("repair", map(message, lines))
    yield from label_lines("left out", map(message, repair.left_out))


def _describe_other(other: OtherReference) -> str:
    disputed = (
        f"{other.source} and the reference encode {other.disputed:,} of {plural(other.cases, 'case')} differently"
    )
    return f"{disputed}; it and the file that is left, {other.differing:,}"


def _explain_no_repair(report: FixReport) -> str:
    left = [check.name for check in remaining(report)]
    cause = _cause(report)
    if cause and not cause.expressible:
        return "none that GGUF can express"
    if not report.before.fail and left:
        return f"none found for the {', '.join(left)}"
    if not report.before.fail and report.blame:
        return "none of the model, as the reference is at fault"
    if not report.before.fail:
        return "none needed, as no case fails; name cases that show a fault with --cases"
    return "none found"


def _list_commands(repair: FileRepair, report: FixReport) -> Iterator[CommandLine]:
    """List commands that make the same change without tokverify."""
    if repair.gguf_command:
        arguments = fill_in(repair.gguf_command, report.source or None, report.target or None)
        yield CommandLine(Command("the same with the gguf package", arguments))
    if repair.types:
        arguments = _type_command(repair, report.source or None, report.target or None)
        yield CommandLine(Command("the same types with the gguf package", arguments))


def _type_command(repair: FileRepair, model: str | None, output: str | None) -> tuple[str, ...]:
    """Return a command line that copies the file and sets the types in the copy."""
    source, target = quote_argument(model, "MODEL"), quote_argument(output, "FIXED.gguf")
    ranges = [(found.first, found.last, found.type) for found in repair.types]
    program = _SET_TYPES.format(file=repr(shlex.split(target)[0]), ranges=ranges)
    return "cp", source, target, "&&", "python", "-c", shlex.quote(program)


def _describe_result(report: FixReport, after: Verification, *, verbose: bool) -> Iterator[Line]:
    yield "after", _format_counts(after)
    yield from _format_checks({check.name: check.after for check in report.checks}, verbose=verbose)
    yield "written", code(report.target)


def _format_checks(counts: Mapping[str, int], *, verbose: bool) -> Iterator[Line]:
    for name, count in counts.items():
        if count or verbose:
            yield "", message(f"{name}: {_count(count, name)}")


def _count(count: int, name: str) -> str:
    return plural(count, "error" if name in {FINDINGS, UNCONFIRMED} else "difference")


def _format_counts(found: Verification) -> str:
    match = f"{plural(found.match, 'case')} {'matches' if found.match == 1 else 'match'}"
    counts = f"{match}, {found.fail:,} {'does' if found.fail == 1 else 'do'} not" if found.fail else match
    if found.explained:
        counts += f", {found.explained:,} {verb(found.explained, 'differ')} only by limits of llama.cpp"
    differing = found.decoded_differently
    return f"{counts}; {differing:,} {verb(differing, 'decode')} differently" if differing else counts


def to_ci_report(report: FixReport) -> CiReport:
    """Return what CI systems show of a repair: what is wrong with the repaired file, or else with the original."""
    return CiReport(
        issues=_issues(report),
        checks=(_CASES, _DIFFERENCES, _INFERRED, _OTHER),
        skipped=[f"not declared by the reference: {visible_message(what)}" for what in report.not_compared],
        properties={"model": report.source, "repaired": report.target},
    )


def _issues(report: FixReport) -> Iterator[Issue]:
    left = report.after or report.before
    if left.fail:
        refusal = [f"cannot be verified: {visible_message(left.refusal)}"] if left.refusal else []
        yield issue_of(_CASES, [f"{plural(left.fail, 'case')} {verb(left.fail, 'fail')}", *refusal], path=report.source)
    for left_over in _describe_rest(report):
        yield issue_of(_DIFFERENCES, [visible_message(left_over)], path=report.source)
    if report.repair and report.repair.inferred_tokens and report.after:
        count = plural(report.repair.inferred_tokens, "token")
        yield issue_of(_INFERRED, [f"{count} inferred from similar tokens and not verified"], path=report.source)
    for other in report.others:
        yield issue_of(_OTHER, [f"{visible_message(other.source)} disagrees with the reference"], path=report.source)


def verdict(report: FixReport) -> str:
    """Sum up a report."""
    unknown = f"; not declared by the reference: {', '.join(report.not_compared)}" if report.not_compared else ""
    unknown += "".join(f"; {other.source} disagrees" for other in report.others)
    if not fix_exit_code(report):
        return f"{'repaired' if report.after else 'nothing to repair'}: {_describe_agreement(report)}{unknown}"
    failing = (report.after or report.before).fail
    left = [f"{plural(failing, 'case')} {verb(failing, 'fail')}"] if failing else []
    left += _describe_rest(report)
    if report.repair and report.repair.inferred_tokens and report.after:
        left.append(f"{plural(report.repair.inferred_tokens, 'token')} not verified")
    return f"{'repaired in part' if report.after else 'not repaired'}: {', '.join(left)}{unknown}"


def _describe_agreement(report: FixReport) -> str:
    left = report.after or report.before
    exceptions: list[str] = []
    if left.explained:
        reasons = "; ".join(f"{limit.message} ({limit.code})" for limit in report.limits)
        exceptions.append(f"{plural(left.explained, 'case')} {verb(left.explained, 'differ')} because {reasons}")
    if differing := left.decoded_differently:
        reason = f" because {report.blame}" if report.blame else ", as libraries have their own ways"
        exceptions.append(
            f"the same ids of {plural(differing, 'case')} {verb(differing, 'decode')} differently{reason}"
        )
    if minor := sum(left_of(check, report) for check in report.checks if check.name == MINOR_ROLES):
        exceptions.append(f"{plural(minor, 'difference')} in {MINOR_ROLES} {verb(minor, 'remain')}")
    return f"every comparison agrees{', except that ' if exceptions else ''}{', and '.join(exceptions)}"


def _describe_rest(report: FixReport) -> list[str]:
    """Say what checks and rules still find; it has not passed `visible` yet."""
    if (report.after or report.before).refusal:
        return []
    left = [
        f"{_count(left_of(check, report), check.name)} in {check.name}"
        for check in remaining(report)
        if check.name != UNCONFIRMED
    ]
    return [*left, f"{UNCONFIRMED} remain: {'; '.join(report.errors)}"] if report.errors else left
