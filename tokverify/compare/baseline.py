"""Baseline: differences that are known and accepted, each with a reason and perhaps an end date (docs/baseline.md).

An entry accepts one way in which a case fails, or one difference between the tokenizers themselves. Anything that
differs in another way than its entry describes still fails, and so does what an expired entry describes.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from glob import escape
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.compare.audit import accepts
from tokverify.compare.digest import DIGITS, digest
from tokverify.compare.judge import Judge, compared_subjects
from tokverify.errors import TokverifyError
from tokverify.report.audit import AuditReport, IdRange, Waiver, fails_audit
from tokverify.report.known_difference import KnownDifference, describe_subject, subject_of
from tokverify.report.run import Status
from tokverify.report.tokenizer_difference import Aspect, select_failing
from tokverify.text.wording import list_items, suggest_name

if TYPE_CHECKING:
    from tokverify.cases.checker import Checker
    from tokverify.cases.yaml_node import Node
    from tokverify.report.finding import Finding
    from tokverify.report.run import CaseResult, Report, Side
    from tokverify.report.tokenizer_difference import TokenizerDifference

    Key = tuple[str, str]


_HOW = "accept them with --reason"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a file."""

    source: str
    """The file."""
    entries: tuple[KnownDifference, ...]
    today: date
    """The day on which the entries are applied."""
    waivers: tuple[Waiver, ...] = ()
    """The entries that accept findings of rules."""

    @classmethod
    def load(cls, path: Path, *, missing_ok: bool = False) -> Baseline:
        """Read a baseline as of today; with `missing_ok`, a file that does not exist is an empty baseline.

        Raises:
            TokverifyError: As `read_baseline` does.
        """
        if missing_ok and not path.exists():
            return cls(str(path), (), utc_today())
        return read_baseline(path, utc_today())

    def apply(self, report: Report) -> Report:
        """Accept the known failures in a report, undoing what an earlier baseline accepted."""
        judge = self.judge(report.actual)
        results = tuple(judge.apply(_revert(result)) for result in report.results)
        # The diagnosis explains the cases that failed before.
        same = [result.status for result in results] == [result.status for result in report.results]
        diagnosis = report.diagnosis if same else None
        return judge.judge_rest(replace(report, results=results, diagnosis=diagnosis))

    def judge(self, side: Side) -> Judge:
        """Return what applies the entries of a model to its results."""
        return Judge(self.source, self.entries_for(side), self.today)

    def entries_for(self, side: Side) -> list[KnownDifference]:
        """Return the entries that apply to a model."""
        return [entry for entry in self.entries if _concerns(entry, side)]

    def update(self, report: Report, reason: str | None) -> Baseline:
        """Return the baseline that lists exactly the failures of a report, in what was compared.

        Entries that still apply, and those of other models or of what was not compared, are kept; `reason` is for the
        new ones.

        Raises:
            TokverifyError: If there are new ones, but no reason.
        """
        failures = _describe_failures(report)
        kept = self._keep(report, failures)
        mine = set(self.entries_for(report.actual))
        known = {_key(entry) for entry in kept if entry in mine}
        new = [entry for key, entry in failures.items() if key not in known]
        if new and not reason:
            names = list_items(map(subject_of, new))
            raise TokverifyError(f"{self.source}: lacks the failures {names}; {_HOW}")
        added = [replace(entry, reason=reason or "") for entry in new]
        entries = sorted([*kept, *added], key=_order)
        # The line of an entry is known only once the file is read again.
        return replace(self, entries=tuple(replace(entry, place=self.source) for entry in entries))

    def update_findings(self, report: AuditReport, name: str, reason: str | None) -> Baseline:
        """Return the baseline that lists exactly the findings that make a report on the model `name` fail.

        Raises:
            TokverifyError: If there are new ones, but no reason.
        """
        failing = [each for each in report.findings if fails_audit(each.severity, report)]
        mine = [waiver for waiver in self.waivers if waiver.model is not None and fnmatchcase(name, waiver.model)]
        needed = [waiver for waiver in mine if any(accepts(waiver, finding) for finding in failing)]
        others = [waiver for waiver in self.waivers if waiver not in mine]
        general = [waiver for waiver in others if waiver.model is None and waiver.fingerprint is None]
        new = [each for each in failing if not any(accepts(waiver, each) for waiver in [*needed, *general])]
        if new and not reason:
            raise TokverifyError(f"{self.source}: lacks the findings {list_items(each.code for each in new)}; {_HOW}")
        added = [_waive(finding, _escape_name(name), reason or "") for finding in new]
        return replace(self, waivers=tuple(sorted([*others, *needed, *added], key=lambda waiver: waiver.code)))

    def _keep(self, report: Report, failures: Container[Key]) -> list[KnownDifference]:
        """Return the entries that a report does not refute."""
        mine = set(self.entries_for(report.actual))
        compared = compared_subjects(report)
        refutable = [entry for entry in self.entries if entry in mine and subject_of(entry) in compared]
        refuted = {entry for entry in refutable if _key(entry) not in failures}
        return [entry for entry in self.entries if entry not in refuted]


def _revert(result: CaseResult) -> CaseResult:
    if result.status is not Status.KNOWN:
        return replace(result, refusals=())
    return replace(result, status=Status.MISMATCH if result.difference else Status.ERROR, known=None)


def _key(entry: KnownDifference) -> Key:
    return subject_of(entry), entry.difference


def read_baseline(path: Path, today: date) -> Baseline:
    """Read a baseline to be applied on a day.

    Raises:
        TokverifyError: If the file is invalid; the message lists all complaints, one per line.
    """
    from tokverify.compare.waiver import read_waivers

    return Baseline(str(path), read_known_differences(path), today, tuple(read_waivers(path)))


def utc_today() -> date:
    """Return the current day in UTC, so that an entry expires everywhere at the same time."""
    return datetime.now(UTC).date()


def _concerns(entry: KnownDifference, side: Side) -> bool:
    pattern = entry.model
    return pattern is None or any(fnmatchcase(name, pattern) for name in (side.name, *side.aliases))


def _waive(finding: Finding, model: str, reason: str) -> Waiver:
    """Return an entry that accepts a finding with exactly this message, about no other ids."""
    ranges = tuple(to_ranges(finding.ids)) or None
    return Waiver(code=finding.code, reason=reason, model=model, ids=ranges, message=_escape_name(finding.message))


def to_ranges(ids: Iterable[int]) -> Iterator[IdRange]:
    """Yield the first and last id of each run of consecutive ids."""
    for _, run in groupby(enumerate(sorted(set(ids))), lambda pair: pair[1] - pair[0]):
        consecutive = [id for _, id in run]
        yield consecutive[0], consecutive[-1]


def _describe_failures(report: Report) -> dict[Key, KnownDifference]:
    """Return an entry, still without a reason, for everything that fails or is known to fail."""
    model, causes = _escape_name(report.actual.name), _find_causes(report)
    known = [difference for difference in report.differences if difference.known]
    entries = [
        *(
            _case_entry(result, model, causes.get(result.case.name))
            for result in report.results
            if _needs_entry(result, report)
        ),
        *(_tokenizer_entry(each, model) for each in [*select_failing(report.differences, report.fail_on), *known]),
    ]
    return {_key(entry): entry for entry in entries}


def _needs_entry(result: CaseResult, report: Report) -> bool:
    """Check whether a case fails, or would without its entry."""
    return result.fails or result.status is Status.KNOWN or (report.strict and bool(result.explained_by))


def _escape_name(name: str) -> str:
    """Return the pattern that matches exactly this name; a baseline cannot contain lone surrogates."""
    return "".join("?" if "\ud800" <= character <= "\udfff" else character for character in escape(name))


def _find_causes(report: Report) -> dict[str, str]:
    """Map the cases that the first explanation of a diagnosis explains to that explanation."""
    if report.diagnosis is None or not report.diagnosis.explanations:
        return {}
    explanation = report.diagnosis.explanations[0]
    left = set(explanation.unexplained)
    failing = [result.case.name for result in report.results if result.fails]
    return {name: f"{explanation.sentence} makes these cases match" for name in failing if name not in left}


def _case_entry(result: CaseResult, model: str, cause: str | None) -> KnownDifference:
    return KnownDifference(
        case=result.case.name, difference=digest(result), reason="", model=model, about=cause or "no cause is known"
    )


def _tokenizer_entry(difference: TokenizerDifference, model: str) -> KnownDifference:
    from tokverify.text.visible import visible_message

    about = visible_message(difference.message)
    return KnownDifference(
        aspect=str(difference.aspect), difference=difference.digest, reason="", model=model, about=about
    )


def _order(entry: KnownDifference) -> tuple[str, ...]:
    return entry.aspect, entry.case, entry.model or "", entry.difference


_WHAT = "known failure"
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DIGEST = re.compile(f"[0-9a-f]{{{DIGITS}}}")


def read_known_differences(path: Path) -> tuple[KnownDifference, ...]:
    """Read the entries of a baseline that are about cases and differences; those with a `code` are waivers.

    Raises:
        TokverifyError: If the file is invalid; the message lists all complaints, one per line.
    """
    from tokverify.cases.entry_file import has_field, read_entries

    seen: set[tuple[str, str, str | None]] = set()

    def read(checker: Checker, node: Node) -> list[KnownDifference] | None:
        if has_field(node, ("code",)):
            return None
        entries = _read_entry(checker, node, str(path))
        for entry in entries:
            subject = describe_subject(entry)
            key = (subject, entry.difference, entry.model)
            if key in seen:
                checker.complain(node.line, f"this failure of {subject} is already listed above; remove one")
            seen.add(key)
        return entries

    read_all = read_entries(path, _WHAT, read, marks=("case", "difference", "cases", "aspects"))
    return tuple(chain.from_iterable(read_all))


def _read_entry(checker: Checker, node: Node, path: str) -> list[KnownDifference]:
    """Read what an entry accepts: some cases and aspects, or one of them as in the form of the first version."""
    from tokverify.cases.checker import Checker
    from tokverify.cases.entry_file import has_field, read_fields

    shared = {"reason": Checker.string, "expires": _read_date, "model": Checker.string, "about": Checker.string}
    if has_field(node, ("cases", "aspects")):
        several = {"cases": _read_cases, "aspects": _read_aspects}
        values = read_fields(checker, node, _WHAT, {**shared, **several}, ("reason",)) or {}
        subjects = [*values.pop("cases", ()), *values.pop("aspects", ())]
        return [KnownDifference(**subject, **values, place=f"{path}:{line}") for line, subject in subjects]
    single = {"case": Checker.string, "aspect": _read_aspect, "difference": _read_digest}
    one = read_fields(checker, node, _WHAT, {**shared, **single}, ("difference", "reason"))
    if one is None:
        return []
    if ("case" in one) == ("aspect" in one):
        checker.complain(node.line, f"a {_WHAT} needs cases or aspects; let --accept write it")
        return []
    return [KnownDifference(**one, place=f"{path}:{node.line}")]


_Subjects = list[tuple[int, dict[str, str]]]


def _read_cases(checker: Checker, node: Node, what: str) -> _Subjects | None:
    found: _Subjects = []
    for name, value in checker.entries(node, what):
        if digits := _read_digest(checker, value, f"the digest of {name}"):
            found.append((value.line, {"case": name, "difference": digits}))
    return found or None


def _read_aspects(checker: Checker, node: Node, what: str) -> _Subjects | None:
    found: _Subjects = []
    for name, value in checker.entries(node, what):
        if name not in tuple(Aspect):
            checker.complain(value.line, f"the aspect {name!r} is unknown; {suggest_name(name, tuple(Aspect))}")
        elif digits := _read_digest(checker, value, f"the digest of {name}"):
            found.append((value.line, {"aspect": name, "difference": digits}))
    return found or None


def _read_aspect(checker: Checker, node: Node, what: str) -> str | None:
    value: str = getattr(node, "value", "")
    if value in tuple(Aspect):
        return value
    checker.complain(node.line, f"{what} {value!r} is unknown; {suggest_name(value, tuple(Aspect))}")
    return None


def _read_digest(checker: Checker, node: Node, what: str) -> str | None:
    value: str = getattr(node, "value", "")
    # subtle: YAML reads a digest that has only digits as an integer, and `12345e67` as a float.
    if _DIGEST.fullmatch(value):
        return value
    checker.complain(node.line, f"{what} is not {DIGITS} hexadecimal digits; let --accept write it")
    return None


def _read_date(checker: Checker, node: Node, what: str) -> date | None:
    value: str = getattr(node, "value", "")
    try:
        if _DATE.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    checker.complain(node.line, f"{what} is not a date; write the last day on which it is accepted, such as 2027-01-31")
    return None
