"""Baseline: differences that are known and accepted, each with a reason and perhaps an end date (docs/baseline.md).

An entry accepts one cause (what a rule reports, what `chat` finds, or a limit of llama.cpp), or the ways in which cases
fail. Anything that differs in another way than its entry describes still fails, and so does what an expired entry
describes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.compare.digest import DIGITS, digest, digest_chat
from tokverify.compare.judge import Judge, compared_subjects, concerns
from tokverify.errors import TokverifyError
from tokverify.report.audit import AuditReport, fails_audit
from tokverify.report.chat import CHAT_CODES, ChatReport, finding_fails, searched_codes
from tokverify.report.known_difference import IdRange, KnownDifference, subject_of
from tokverify.report.run import CaseResult, Report, Status
from tokverify.report.side import Side
from tokverify.report.tokenizer_difference import Aspect, select_failing
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_items, suggest_name

if TYPE_CHECKING:
    from tokverify.cases.checker import Checker
    from tokverify.cases.yaml_node import Node

    Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of a file."""

    source: str
    """The file."""
    entries: tuple[KnownDifference, ...]
    today: date
    """The day on which the entries are applied."""

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
        open_limits = {code for result in results for code in result.explained_by}
        limits = tuple(limit for limit in report.limits if limit.code in open_limits)
        return judge.judge_rest(replace(report, results=results, diagnosis=diagnosis, limits=limits))

    def judge(self, side: Side) -> Judge:
        """Return what applies the entries of a model to its results."""
        return Judge(self.source, self.entries_for(side), self.today)

    def entries_for(self, side: Side) -> list[KnownDifference]:
        """Return the entries that apply to a model."""
        return [entry for entry in self.entries if concerns(entry, (side.name, *side.aliases), side.fingerprint)]

    def apply_to_chat(self, report: ChatReport) -> ChatReport:
        """Accept the known findings in a report of `chat`, undoing what an earlier baseline accepted."""
        return self.judge(report.actual).apply_to_chat(report)

    def update(
        self, report: Report, reason: str | None, audit: AuditReport | None = None, chat: ChatReport | None = None
    ) -> Baseline:
        """Return the baseline that lists exactly what fails in a report, in what was compared.

        Entries that still apply, and those of other models or of what was not compared, are kept.

        Args:
            report: What `run` reports about the model.
            reason: Why new entries are accepted.
            audit: What the rules report about it.
            chat: What is found in its chat templates.

        Raises:
            TokverifyError: If there are new entries, but no reason.
        """
        accepted = replace(self.apply(report), diagnosis=report.diagnosis)
        # subtle: the update of another model may have changed the entries since.
        chat = chat and self.apply_to_chat(chat)
        failures = {_key(entry): entry for entry in _describe_failures(report, audit, chat)}
        mine = set(self.entries_for(report.actual))
        refuted = _select_refuted(mine, accepted, audit, chat)
        kept = [entry for entry in self.entries if _key(entry) in failures or entry not in refuted]
        listed = {_key(entry) for entry in kept if entry in mine}
        new = [entry for entry in _describe_failures(accepted, audit, chat, known=False) if _key(entry) not in listed]
        if new and not reason:
            names = list_items(list(dict.fromkeys(map(subject_of, new))))
            raise TokverifyError(f"{self.source}: does not accept {names} yet; say why with --reason TEXT")
        added = {_key(entry): replace(entry, reason=reason or "") for entry in new}
        kept = [_refresh(entry, failures) if entry in mine else entry for entry in kept]
        entries = sorted([*kept, *added.values()], key=_order)
        # The line of an entry is known only once the file is read again.
        return replace(self, entries=tuple(replace(entry, place=self.source) for entry in entries))


def _select_refuted(
    entries: Collection[KnownDifference], accepted: Report, audit: AuditReport | None, chat: ChatReport | None
) -> set[KnownDifference]:
    """Return the entries of a model that accept nothing although it was looked for."""
    compared = compared_subjects(accepted)
    idle = {entry for entry in entries if subject_of(entry) in compared}
    idle |= set(audit.unused_waivers) if audit else set()
    searched = searched_codes(chat) if chat else frozenset()
    idle |= {entry for entry in entries if entry.code in searched}
    used = {each.known for each in accepted.results} | {each.known for each in accepted.differences}
    used |= {each.waiver for each in audit.waived} if audit else set()
    used |= {each.known for each in chat.findings} if chat else set()
    return idle - used


def _refresh(entry: KnownDifference, failures: Mapping[Key, KnownDifference]) -> KnownDifference:
    """Describe an entry as a new one would be, so that entries with one cause are written together."""
    now = failures.get(_key(entry))
    return replace(entry, code=now.code, about=now.about) if now else entry


def _revert(result: CaseResult) -> CaseResult:
    if result.status is not Status.KNOWN:
        return replace(result, refusals=())
    return replace(result, status=Status.MISMATCH if result.difference else Status.ERROR, known=None)


def _key(entry: KnownDifference) -> Key:
    return entry.case, entry.difference or entry.code


def read_baseline(path: Path, today: date) -> Baseline:
    """Read a baseline to be applied on a day.

    Raises:
        TokverifyError: If the file is invalid; the message lists all complaints, one per line.
    """
    return Baseline(str(path), read_known_differences(path), today)


def load_known(*paths: Path | None, missing_ok: bool = False) -> Baseline | None:
    """Read several baselines as one, with the name of the first; None if there is none.

    Raises:
        TokverifyError: As `read_baseline` does.
    """
    found = [Baseline.load(path, missing_ok=missing_ok) for path in paths if path]
    return replace(found[0], entries=tuple(entry for each in found for entry in each.entries)) if found else None


def utc_today() -> date:
    """Return the current day in UTC, so that an entry expires everywhere at the same time."""
    return datetime.now(UTC).date()


def _describe_failures(
    report: Report, audit: AuditReport | None, chat: ChatReport | None, *, known: bool = True
) -> list[KnownDifference]:
    """Return an entry, still without a reason, for everything that fails and, on request, for what is known."""
    accepted = [difference for difference in report.differences if known and difference.known]
    found = [*select_failing(report.differences, report.fail_on), *accepted]
    causes = [(each.code or str(each.aspect), each.digest, each.message) for each in found]
    findings = [each for each in audit.findings if fails_audit(each.severity, audit)] if audit else []
    causes += [(each.code, each.digest, each.message) for each in findings]
    in_chat = [each for each in chat.findings if finding_fails(chat, each) or (known and each.known)] if chat else []
    causes += [(CHAT_CODES[each.kind], digest_chat(each), each.message) for each in in_chat]
    explained = {code for result in report.results if report.strict for code in result.explained_by}
    causes += [(limit.code, "", limit.message) for limit in report.limits if limit.code in explained]
    model = _escape_name(report.actual.name)
    entry = partial(KnownDifference, reason="", model=model)
    return [
        *(entry(code=code, difference=digest, about=visible_message(about)) for code, digest, about in causes),
        *(
            entry(case=result.case.name, difference=digest(result), about=_name_cause(result, report))
            for result in report.results
            if result.fails or (known and result.status is Status.KNOWN)
        ),
    ]


def _name_cause(result: CaseResult, report: Report) -> str:
    """Return the change that would make a case match; empty if none is known."""
    explanations = report.diagnosis.explanations if report.diagnosis else ()
    found = next((each for each in explanations if result.case.name not in each.unexplained), None)
    return visible_message(f"{found.sentence} makes them match") if found else ""


def _escape_name(name: str) -> str:
    """Return the pattern that matches exactly this name; a baseline cannot contain lone surrogates."""
    return "".join("?" if "\ud800" <= character <= "\udfff" else character for character in escape(name))


def _order(entry: KnownDifference) -> tuple[str, ...]:
    return entry.code, entry.case, entry.model or "", entry.difference


_WHAT = "known failure"
_MAX_ID = 2**31 - 1
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DIGEST = re.compile(f"[0-9a-f]{{{DIGITS}}}")
_RANGE = re.compile("([0-9]{1,10})-([0-9]{1,10})")
_FINGERPRINT = re.compile("[0-9a-f]{8,64}")
_SUBJECTS = ("code", "cases", "case", "aspect")
"""An entry has exactly one of them; the last two are those of older versions, which had an entry for each case."""


def read_known_differences(path: Path) -> tuple[KnownDifference, ...]:
    """Read the entries of a baseline, with one for each case.

    Raises:
        TokverifyError: If the file is invalid; the message lists all complaints, one per line.
    """
    from tokverify.cases.checker import read_entries

    seen: set[tuple[object, ...]] = set()

    def read(checker: Checker, node: Node) -> list[KnownDifference] | None:
        entries = _read_entry(checker, node, f"{path}:{node.line}")
        for entry in entries or ():
            key = (subject_of(entry), entry.difference, entry.model, entry.ids, entry.message, entry.fingerprint)
            if key in seen:
                checker.complain(node.line, f"{subject_of(entry)} is already listed above; remove one")
            seen.add(key)
        return entries

    found = read_entries(path, _WHAT, read, marks=("case", "cases", "code", "difference", "reason"))
    return tuple(entry for entries in found for entry in entries)


def _read_entry(checker: Checker, node: Node, place: str) -> list[KnownDifference] | None:
    from tokverify.cases.checker import Checker, read_fields

    readers = {
        "case": Checker.string,
        "cases": _read_cases,
        "aspect": _read_code,
        "code": _read_code,
        "difference": _read_digest,
        "ids": _read_ids,
        "message": Checker.string,
        "reason": Checker.string,
        "expires": _read_date,
        "model": Checker.string,
        "fingerprint": _read_fingerprint,
        "about": Checker.string,
    }
    values = read_fields(checker, node, _WHAT, readers, ("reason",))
    if values is None:
        return None
    subjects = [name for name in _SUBJECTS if name in values]
    if len(subjects) != 1:
        checker.complain(node.line, f"a {_WHAT} needs either a code or cases; let --accept write it")
        return None
    if subjects[0] in {"case", "aspect"} and "difference" not in values:
        checker.complain(node.line, f"a {_WHAT} with {subjects[0]} needs a difference; let --accept write it")
        return None
    if cases := values.pop("cases", None):
        return [KnownDifference(**values, case=name, difference=digest, place=place) for name, digest in cases.items()]
    if aspect := values.pop("aspect", None):
        values["code"] = aspect
    return [KnownDifference(**values, place=place)]


def _read_cases(checker: Checker, node: Node, what: str) -> dict[str, str | None]:
    return {name: _read_digest(checker, value, f"{what} {name}") for name, value in checker.entries(node, what)}


def _read_code(checker: Checker, node: Node, what: str) -> str | None:
    from tokverify.cases.checker import quote
    from tokverify.compare.checks import RULES
    from tokverify.compare.limits import LIMITS

    value: str = getattr(node, "value", "")
    known = [*RULES, *LIMITS, *Aspect, *CHAT_CODES.values()]
    if value in known:
        return value
    checker.complain(node.line, f"{what} {quote(value)} is unknown; {suggest_name(value, known)}")
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


def _read_fingerprint(checker: Checker, node: Node, what: str) -> str | None:
    return checker.matching(node, what, _FINGERPRINT, "write 8 to 64 lower-case hexadecimal digits")


def _read_ids(checker: Checker, node: Node, what: str) -> tuple[IdRange, ...] | None:
    items = checker.sequence(node, what)
    ranges = [_read_range(checker, item) for item in items or ()]
    return None if items is None else tuple(range for range in ranges if range is not None)


def _read_range(checker: Checker, node: Node) -> IdRange | None:
    if match := _RANGE.fullmatch(getattr(node, "value", "")):
        return int(match[1]), int(match[2])
    id = checker.integer(node, "an id, or a range such as 5-9,", 0, _MAX_ID)
    return None if id is None else (id, id)
