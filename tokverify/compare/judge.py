"""Judge: applies the entries of a baseline to the results of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tokverify.compare.digest import digest
from tokverify.report.known_difference import BaselineOutcome, KnownDifference, subject_of
from tokverify.report.run import FAILING, CaseResult, Report, Status
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference

if TYPE_CHECKING:
    from datetime import date


class _Judgment(NamedTuple):
    """The entry that accepts something, or the reasons why others that are nearly right do not."""

    known: KnownDifference | None
    refusals: tuple[str, ...] = ()


def compared_subjects(report: Report) -> set[str]:
    """Return the cases and aspects that a report compares."""
    compared = {result.case.name for result in report.results if result.status is not Status.SKIPPED}
    if report.vocabulary:
        compared.update(aspect for aspect in Aspect if aspect is not Aspect.RULES or report.rules)
    return compared


class Judge:
    """Applies entries that concern one model.

    Args:
        source: The baseline's file.
        entries: The entries.
        today: The day on which they are applied.
    """

    def __init__(self, source: str, entries: Sequence[KnownDifference], today: date) -> None:
        self._source = source
        self._entries = entries
        self._today = today
        self._by_subject: dict[str, list[KnownDifference]] = {}
        for entry in entries:
            self._by_subject.setdefault(subject_of(entry), []).append(entry)

    def apply(self, result: CaseResult) -> CaseResult:
        """Return a result as known if an entry accepts it; if an entry nearly does, note why it does not."""
        entries = self._by_subject.get(result.case.name)
        if not entries or result.status not in FAILING:
            return result
        known, refusals = self._judge(entries, digest(result), "failure of this case")
        if known:
            return replace(result, status=Status.KNOWN, known=known, explained_by=())
        return replace(result, refusals=refusals)

    def judge_rest(self, report: Report) -> Report:
        """Judge how the tokenizers differ, and list the entries that accept nothing in the report."""
        judged = replace(report, differences=tuple(map(self._apply_to_difference, report.differences)))
        return replace(judged, baseline=self._outcome(judged))

    def _apply_to_difference(self, difference: TokenizerDifference) -> TokenizerDifference:
        entries = self._by_subject.get(difference.aspect, [])
        known, refusals = self._judge(entries, difference.digest, "difference in this aspect")
        return replace(difference, known=known, refusals=refusals)

    def _judge(self, entries: Sequence[KnownDifference], found: str, what: str) -> _Judgment:
        """Judge what has the digest `found`, given the entries about the same subject; `what` names it in messages."""
        alike = [entry for entry in entries if entry.difference == found]
        for entry in alike:
            if entry.expires is None or self._today <= entry.expires:
                return _Judgment(entry)
        if alike:
            notes = [f"accepted until {entry.expires} by {entry.place}, which has expired" for entry in alike]
        else:
            notes = [f"{entry.place} accepts another {what}, not this one" for entry in entries]
        reasons = [f"(reason: {entry.reason})" for entry in alike or entries]
        return _Judgment(None, tuple(f"{note} {reason}" for note, reason in zip(notes, reasons, strict=True)))

    def _outcome(self, report: Report) -> BaselineOutcome:
        """Return the entries that a report does not need, because what they accept is gone or was not compared."""
        compared = compared_subjects(report)
        failing = {result.case.name for result in report.results if result.status is not Status.MATCH}
        differing = {difference.aspect for difference in report.differences if not difference.known}
        fixed = compared - failing - differing
        used = {difference.known for difference in report.differences}
        idle = [(entry, subject_of(entry)) for entry in self._entries if entry not in used]
        return BaselineOutcome(
            self._source,
            fixed=tuple(entry for entry, subject in idle if subject in fixed),
            not_run=tuple(entry for entry, subject in idle if subject not in compared),
        )
