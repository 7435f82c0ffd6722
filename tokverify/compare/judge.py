"""Judge: applies the entries of a baseline to the results of one model, or to what rules find in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

from tokverify.compare.digest import digest, digest_chat
from tokverify.report.chat import CHAT_CODES, ChatFinding, ChatReport, searched_codes
from tokverify.report.finding import Finding
from tokverify.report.known_difference import BaselineOutcome, KnownDifference, subject_of
from tokverify.report.run import FAILING, CaseResult, Report, Status
from tokverify.report.tokenizer_difference import CODES, Aspect, TokenizerDifference

_Found: TypeAlias = "Finding | TokenizerDifference | ChatFinding"


class Judgment(NamedTuple):
    """The entry that accepts something, or the reasons why others that are nearly right do not."""

    known: KnownDifference | None
    refusals: tuple[str, ...] = ()


def compared_subjects(report: Report) -> set[str]:
    """Return the cases, aspects and codes that a report compares."""
    compared = {result.case.name for result in report.results if result.status is not Status.SKIPPED}
    if report.vocabulary:
        compared.update(aspect for aspect in Aspect if aspect is not Aspect.RULES or report.rules)
        compared.update(CODES.values())
    return compared


def concerns(entry: KnownDifference, names: Iterable[str], fingerprint: str | None) -> bool:
    """Check whether an entry is about a model with these names and this fingerprint."""
    if entry.fingerprint is not None and not (fingerprint or "").startswith(entry.fingerprint):
        return False
    return entry.model is None or any(fnmatchcase(name, entry.model) for name in names)


def accepts(entry: KnownDifference, found: _Found) -> bool:
    """Check whether an entry is about what was found, and exactly that."""
    # What `chat` finds concerns no tokens in particular.
    way, ids = (digest_chat(found), ()) if isinstance(found, ChatFinding) else (found.digest, found.ids)
    if entry.code not in codes_of(found) or entry.difference not in {"", way}:
        return False
    # `run` adds the code and the name of a rule.
    messages = found.message, found.message.partition(": ")[2]
    if entry.message is not None and not any(fnmatchcase(message, entry.message) for message in messages):
        return False
    within = (any(first <= id <= last for first, last in entry.ids or ()) for id in ids)
    return entry.ids is None or (bool(ids) and all(within))


def codes_of(found: _Found) -> set[str]:
    """Return the codes by which an entry can name a difference or a finding."""
    if isinstance(found, ChatFinding):
        return {CHAT_CODES[found.kind]}
    return {found.code} if isinstance(found, Finding) else {found.code or found.aspect, found.aspect}


def is_valid(entry: KnownDifference, today: date) -> bool:
    """Check whether an entry has not expired."""
    return entry.expires is None or today <= entry.expires


def judge_alike(entries: Iterable[KnownDifference], today: date) -> Judgment:
    """Judge something, given the entries that accept exactly that unless they have expired."""
    expired: list[str] = []
    for entry in entries:
        if is_valid(entry, today):
            return Judgment(entry)
        expired.append(f"accepted until {entry.expires} by {entry.place}, which has expired (reason: {entry.reason})")
    return Judgment(None, tuple(expired))


class Judge:
    """Applies entries that concern one model."""

    def __init__(self, source: str, entries: Sequence[KnownDifference], today: date) -> None:
        self._source = source
        self._entries = entries
        self._today = today
        self._by_subject: dict[str, list[KnownDifference]] = {}
        for entry in entries:
            self._by_subject.setdefault(subject_of(entry), []).append(entry)

    def apply(self, result: CaseResult) -> CaseResult:
        """Return a result as known if entries accept it; if an entry nearly does, note why it does not."""
        if result.status not in FAILING:
            return result
        if causes := self._accepted_limits(result):
            return replace(result, status=Status.KNOWN, known=causes[0], explained_by=())
        entries = self._by_subject.get(result.case.name, [])
        found = digest(result)
        known, refusals = self._judge(entries, lambda entry: entry.difference == found, "failure of this case")
        if known:
            return replace(result, status=Status.KNOWN, known=known, explained_by=())
        return replace(result, refusals=refusals)

    def _accepted_limits(self, result: CaseResult) -> list[KnownDifference]:
        """Return the entries that accept the limits which explain a result; none unless all are accepted."""
        entries = [self._by_subject.get(code, []) for code in result.explained_by]
        valid = [next((entry for entry in each if is_valid(entry, self._today)), None) for each in entries]
        found = [entry for entry in valid if entry]
        return found if len(found) == len(entries) else []

    def apply_to_chat(self, report: ChatReport) -> ChatReport:
        """Judge what `chat` has found, and list the entries about kinds of findings that it looked for in vain."""
        findings = tuple(map(self._apply_to_finding, report.findings))
        found = {CHAT_CODES[each.kind] for each in findings if not each.known}
        idle = searched_codes(report) - found
        used = {each.known for each in findings}
        unused = tuple(entry for entry in self._entries if entry.code in idle and entry not in used)
        return replace(report, findings=findings, unused=unused)

    def _apply_to_finding(self, finding: ChatFinding) -> ChatFinding:
        entries = self._by_subject.get(CHAT_CODES[finding.kind], [])
        known, refusals = self._judge(entries, lambda entry: accepts(entry, finding), "finding of this kind")
        return replace(finding, known=known, refusals=refusals)

    def judge_rest(self, report: Report) -> Report:
        """Judge how the tokenizers differ, and list the entries that accept nothing in the report."""
        judged = replace(report, differences=tuple(map(self._apply_to_difference, report.differences)))
        return replace(judged, baseline=self._outcome(judged))

    def _apply_to_difference(self, difference: TokenizerDifference) -> TokenizerDifference:
        entries = [entry for code in sorted(codes_of(difference)) for entry in self._by_subject.get(code, [])]
        known, refusals = self._judge(entries, lambda entry: accepts(entry, difference), "difference of this kind")
        return replace(difference, known=known, refusals=refusals)

    def _judge(
        self, entries: Sequence[KnownDifference], is_alike: Callable[[KnownDifference], bool], what: str
    ) -> Judgment:
        """Judge something, given the entries about the same subject; `what` names it in messages."""
        if alike := list(filter(is_alike, entries)):
            return judge_alike(alike, self._today)
        others = (f"{entry.place} accepts another {what}, not this one (reason: {entry.reason})" for entry in entries)
        return Judgment(None, tuple(others))

    def _outcome(self, report: Report) -> BaselineOutcome:
        """Return the entries that a report does not need, because what they accept is gone or was not compared."""
        compared = compared_subjects(report)
        failing = {result.case.name for result in report.results if result.status is not Status.MATCH}
        open_codes = {code for each in report.differences if not each.known for code in codes_of(each)}
        fixed = compared - failing - open_codes
        used = {difference.known for difference in report.differences}
        idle = [(entry, subject_of(entry)) for entry in self._entries if entry not in used]
        return BaselineOutcome(
            self._source,
            fixed=tuple(entry for entry, subject in idle if subject in fixed),
            not_run=tuple(entry for entry, subject in idle if entry.case and subject not in compared),
        )
