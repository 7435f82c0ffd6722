"""Examples: of the cases that change, one for each cause, with the names of those that change for the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tokverify.fuzzing.sample import Sample
from tokverify.fuzzing.trial import Kind, Outcome
from tokverify.report import Status

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from tokverify.report import CaseResult

_KINDS = {Status.MISMATCH: Kind.IDS, Status.ERROR: Kind.ERROR}


class Example(NamedTuple):
    """A case that changes, and the names of the others that change for the same cause."""

    result: CaseResult
    alike: tuple[str, ...]


def examples(results: Iterable[CaseResult]) -> list[Example]:
    """Choose the case with the shortest text for each cause; the cause that shows most often comes first.

    Cases have one cause if the same ids stand for the same other ids in them, as in fuzzing.
    """
    by_cause: dict[Hashable, list[CaseResult]] = {}
    for result in results:
        if result.status in _KINDS:
            by_cause.setdefault(_cause(result), []).append(result)
    groups = [sorted(group, key=lambda result: len(result.case.text)) for group in by_cause.values()]
    return [
        Example(first, tuple(result.name for result in others))
        for first, *others in sorted(groups, key=len, reverse=True)
    ]


def _cause(result: CaseResult) -> Hashable:
    sample = Sample(result.case.text, result.add_special, result.parse_special)
    kind = _KINDS[result.status]
    return Outcome(sample, kind, result.actual, result.expected, result.message or "").fingerprint
