"""Sentences that sum up a report and its diagnosis."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokverify.render.run.differences import count_effects
from tokverify.report.diagnosis import Diagnosis, Explanation, command_line
from tokverify.report.run import Report, Status, VocabularyDifference
from tokverify.report.run_summary import (
    count_decode_differences,
    count_status,
    fails_uncompared,
    run_exit_code,
)
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_items, plural


def verdict(report: Report) -> str:
    """Sum up a report, such as `280 cases: 268 match, 12 mismatch`."""
    counts = {status: count_status(report, status) for status in Status}
    listed = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    parts = [f"{plural(len(report.results), 'case')}: {listed or 'none run'}"]
    if decoded := count_decode_differences(report):
        parts.append(f"{decoded:,} decoded differently")
    if differences := count_effects(report):
        parts.append(differences)
    elif vocabularies := vocabulary_difference(report.vocabulary):
        parts.append(vocabularies)
    if fails_uncompared(report):
        parts.append("failing because not everything was compared")
    if report.gone:
        return "; ".join([*parts, f"incomplete: {report.gone}"])
    if report.stopped_early:
        parts.append("stopped early, the rest was not run")
    if report.baseline and report.baseline.fixed:
        parts.append(f"{plural(len(report.baseline.fixed), 'entry', 'entries')} of the baseline fixed")
    if run_exit_code(report) not in {0, 1}:
        return "; ".join([*parts, "nothing was compared"])
    return "; ".join([*parts, *reservations(report)])


def vocabulary_difference(vocabulary: VocabularyDifference | None) -> str:
    """Say that the tokens differ, or else which roles belong to other tokens; empty if neither, or not compared."""
    if vocabulary is None:
        return ""
    if vocabulary.pieces or vocabulary.actual_size != vocabulary.expected_size:
        return "the vocabularies differ"
    roles = list_items(vocabulary.special_ids)
    return f"other special ids: {roles}" if roles else ""


def reservations(report: Report) -> Iterator[str]:
    """Yield what people must know who read nothing but the verdict."""
    if omitted := list(_omitted_tokens(report)):
        yield f"{' and '.join(omitted)} were not compared"
    if report.expected.caveat:
        yield caveat(report)
    if report.rules:
        yield f"{plural(report.rules, 'static rule')} checked that data instead"


def _omitted_tokens(report: Report) -> Iterator[str]:
    if any(result.case.parse_special and not result.parse_special for result in report.results):
        yield "control tokens inside texts"
    if any(result.case.add_special and not result.add_special for result in report.results):
        yield "tokens around texts"


def caveat(report: Report) -> str:
    """Return in short what agreement with the reference cannot prove, starting with `but`; or an empty string."""
    return f"but {re.split('[:;]', report.expected.caveat)[0]}" if report.expected.caveat else ""


def effect(explanation: Explanation, diagnosis: Diagnosis) -> str:
    """Describe what the change of an explanation does."""
    what = "differing decoding" if diagnosis.decoding else "failing case"
    explained, failing = explanation.explained, explanation.failing
    which = f"the only {what}" if explained == failing == 1 else f"{explained:,} of {plural(failing, what)}"
    found = f"{explanation.sentence} makes {which} match"
    return f"{found}, but breaks {plural(explanation.broken, 'other')}" if explanation.broken else found


def limit_note(diagnosis: Diagnosis) -> str:
    """Say that a diagnosis reached its limit, and what it did not try."""
    tried = f"the limit was reached after {plural(diagnosis.tried, 'change')}"
    names = ", ".join(diagnosis.not_tried)
    return f"{tried}; not tried: {names}" if names else tried


def explanation_lines(report: Report) -> list[str]:
    """Return the explanations of a report, each followed by its repair, in lines that have passed `visible`."""
    if report.diagnosis is None:
        return []
    lines: list[str] = []
    for explanation in report.diagnosis.explanations:
        repair = explanation.repair
        lines.append(effect(explanation, report.diagnosis))
        lines += [f"{command.label}: {command_line(command)}" for command in repair.commands] or [repair.remark]
    return list(map(visible_message, lines))
