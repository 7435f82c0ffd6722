"""Baseline: failures that are known and accepted, each with a reason and perhaps an end date (docs/baseline.md).

A case that fails in a different way than its entry describes still fails, and so does one whose entry has expired.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError
from tokverify.report.run import BaselineOutcome, KnownDifference, Status
from tokverify.report.run_summary import FAILING

if TYPE_CHECKING:
    from tokverify.cases.checker import Checker
    from tokverify.cases.yaml_node import Node
    from tokverify.report.run import CaseResult, Report, Side
    from tokverify.tokenizer import Token

_DIGITS = 16
_MAX_NAMES = 5
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DIGEST = re.compile(f"[0-9a-f]{{{_DIGITS}}}")
_FAILING = FAILING | {Status.KNOWN}


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
        judge = Judge(self, report.actual)
        results = tuple(judge.apply(_revert(result)) for result in report.results)
        # The diagnosis explains the cases that failed before.
        same = [result.status for result in results] == [result.status for result in report.results]
        diagnosis = report.diagnosis if same else None
        return replace(report, results=results, diagnosis=diagnosis, baseline=judge.outcome(results))

    def entries_for(self, side: Side) -> list[KnownDifference]:
        """Return the entries that apply to a model."""
        return [entry for entry in self.entries if _concerns(entry, side)]

    def update(self, report: Report, reason: str | None) -> Baseline:
        """Return the baseline that lists exactly the failures of a report, among the cases that were compared.

        Entries that still apply, and those of other models or of cases that did not run, are kept; `reason` is for the
        new ones.

        Raises:
            TokverifyError: If there are new ones, but no reason.
        """
        failures = {
            (result.case.name, digest(result)): result for result in report.results if result.status in _FAILING
        }
        kept = self._keep(report, failures)
        mine = set(self.entries_for(report.actual))
        known = {(entry.case, entry.difference) for entry in kept if entry in mine}
        new = [result for key, result in failures.items() if key not in known]
        if new and not reason:
            raise TokverifyError(f"{self.source}: lacks the failures {_list_names(new)}; accept them with --reason")
        added = [_entry(result, report.actual, reason or "") for result in new]
        entries = sorted([*kept, *added], key=_order)
        # The line of an entry is known only once the file is read again.
        return replace(self, entries=tuple(replace(entry, place=self.source) for entry in entries))

    def _keep(self, report: Report, failures: Container[tuple[str, str]]) -> list[KnownDifference]:
        """Return the entries that a report does not refute."""
        mine = set(self.entries_for(report.actual))
        compared = {result.case.name for result in report.results if result.status is not Status.SKIPPED}
        refutable = [entry for entry in self.entries if entry in mine and entry.case in compared]
        refuted = {entry for entry in refutable if (entry.case, entry.difference) not in failures}
        return [entry for entry in self.entries if entry not in refuted]


def _list_names(results: Sequence[CaseResult]) -> str:
    names = ", ".join(result.case.name for result in results[:_MAX_NAMES])
    left_out = len(results) - _MAX_NAMES
    return f"{names} and {left_out:,} more" if left_out > 0 else names


class Judge:
    """Applies the entries of a baseline for one model to the results of that model."""

    def __init__(self, baseline: Baseline, side: Side) -> None:
        self._baseline = baseline
        self._entries = baseline.entries_for(side)
        self._by_case: dict[str, list[KnownDifference]] = {}
        for entry in self._entries:
            self._by_case.setdefault(entry.case, []).append(entry)

    def apply(self, result: CaseResult) -> CaseResult:
        """Return a result as known if an entry accepts it; if an entry nearly does, note why it does not."""
        entries = self._by_case.get(result.case.name)
        if not entries or result.status not in FAILING:
            return result
        found = digest(result)
        alike = [entry for entry in entries if entry.difference == found]
        for entry in alike:
            if entry.expires is None or self._baseline.today <= entry.expires:
                return replace(result, status=Status.KNOWN, known=entry)
        if alike:
            notes = [f"accepted until {entry.expires} by {entry.place}, which has expired" for entry in alike]
        else:
            notes = [f"{entry.place} accepts another failure of this case, not this one" for entry in entries]
        reasons = [f"(reason: {entry.reason})" for entry in alike or entries]
        refusals = tuple(f"{note} {reason}" for note, reason in zip(notes, reasons, strict=True))
        return replace(result, refusals=refusals)

    def outcome(self, results: Iterable[CaseResult]) -> BaselineOutcome:
        """Return the entries that these results do not need, because their cases match or did not run."""
        statuses = {result.case.name: result.status for result in results}
        return BaselineOutcome(
            self._baseline.source,
            fixed=tuple(entry for entry in self._entries if statuses.get(entry.case) is Status.MATCH),
            not_run=tuple(entry for entry in self._entries if statuses.get(entry.case) in {None, Status.SKIPPED}),
        )


def _revert(result: CaseResult) -> CaseResult:
    if result.status is not Status.KNOWN:
        return replace(result, refusals=())
    return replace(result, status=Status.MISMATCH if result.difference else Status.ERROR, known=None)


def digest(result: CaseResult) -> str:
    """Return a digest that identifies how a case fails: by the ids on both sides, or by the message."""
    way: list[object] = ["error", result.message]
    if result.difference:
        way = ["ids", result.actual, result.expected, result.expect]
    return hashlib.sha256(json.dumps(way).encode()).hexdigest()[:_DIGITS]


def utc_today() -> date:
    """Return the current day in UTC, so that an entry expires everywhere at the same time."""
    return datetime.now(UTC).date()


def read_baseline(path: Path, today: date) -> Baseline:
    """Read a baseline, in YAML or JSON.

    Raises:
        TokverifyError: If the file is invalid; the message lists all complaints, one per line.
    """
    from tokverify.cases.entry_file import read_entries

    seen: set[tuple[str, str, str | None]] = set()

    def read(checker: Checker, node: Node) -> KnownDifference | None:
        entry = _read_entry(checker, node, f"{path}:{node.line}")
        if entry:
            key = (entry.case, entry.difference, entry.model)
            if key in seen:
                checker.complain(node.line, f"this failure of {entry.case} is already listed above; remove one")
            seen.add(key)
        return entry

    return Baseline(str(path), tuple(read_entries(path, "known failure", read, marks=("case", "difference"))), today)


def _concerns(entry: KnownDifference, side: Side) -> bool:
    pattern = entry.model
    return pattern is None or any(fnmatchcase(name, pattern) for name in (side.name, *side.aliases))


def _entry(result: CaseResult, side: Side, reason: str) -> KnownDifference:
    return KnownDifference(
        case=result.case.name,
        difference=digest(result),
        reason=reason,
        model="".join("?" if "\ud800" <= character <= "\udfff" else character for character in escape(side.name)),
        about=_about(result),
    )


def _about(result: CaseResult) -> str:
    from tokverify.text.visible import visible_message

    if result.difference is None:
        return visible_message(result.message or "")
    first = result.difference.first
    return f"from token {first.token_index:,} on: {_id(first.actual)}, not {_id(first.expected)}"


def _id(token: Token | None) -> str:
    return "the end" if token is None else str(token.id)


def _order(entry: KnownDifference) -> tuple[str, ...]:
    return entry.case, entry.model or "", entry.difference


def _read_entry(checker: Checker, node: Node, place: str) -> KnownDifference | None:
    from tokverify.cases.checker import Checker
    from tokverify.cases.entry_file import read_fields

    readers = {
        "case": Checker.string,
        "difference": _read_digest,
        "reason": Checker.string,
        "expires": _read_date,
        "model": Checker.string,
        "about": Checker.string,
    }
    values = read_fields(checker, node, "known failure", readers, ("case", "difference", "reason"))
    return None if values is None else KnownDifference(**values, place=place)


def _read_digest(checker: Checker, node: Node, what: str) -> str | None:
    value: str = getattr(node, "value", "")
    # subtle: YAML reads a digest that has only digits as an integer, and `12345e67` as a float.
    if _DIGEST.fullmatch(value):
        return value
    checker.complain(node.line, f"{what} is not {_DIGITS} hexadecimal digits; let --update-baseline write it")
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
