"""Examples: of the cases that change, one for each cause, with the names of those that change for the same one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from tokverify.fuzz.sample import Sample
from tokverify.fuzz.trial import TrialOutcome
from tokverify.report.fuzz import DifferenceKind
from tokverify.report.run import Status

if TYPE_CHECKING:
    from tokverify.diff.part import Change
    from tokverify.report.diff import ChangeReport
    from tokverify.report.run import CaseResult

_KINDS = {Status.MISMATCH: DifferenceKind.IDS, Status.ERROR: DifferenceKind.ERROR}
_OF_TOKENS = ("tokens", "types", "scores", "added tokens")
_NOT_FOR_IDS = frozenset({"chat templates"})
# Two ways to tell of one thing.
_ALIKE = frozenset({"types", "added tokens"})
_SETTINGS = "settings"
_SPECIAL_ID = "special_ids."
_ROLES_IN_IDS = frozenset({"bos", "eos", "sep", "unk"})


class Example(NamedTuple):
    """A case that changes, and the names of the others that change for the same cause.

    `parts` names the parts that are the cause, where it can be told: with `is_only`, nothing else changed that ids
    depend on; without, wherever the cases differ, there is a token that changed in each of the parts.
    """

    result: CaseResult
    alike: tuple[str, ...]
    parts: tuple[str, ...] = ()
    is_only: bool = False


class _Cause(NamedTuple):
    key: Hashable
    parts: tuple[str, ...] = ()
    is_only: bool = False


def examples(report: ChangeReport) -> list[Example]:
    """Choose the case with the shortest text for each cause; the cause that shows most often comes first.

    Cases have one cause if only one part changed, and of the settings only one with what it implies; if they differ
    only where tokens changed, in the same parts; or if the same ids stand for the same other ids in them, as in
    fuzzing.
    """
    only, changed = _only_part(report), _changed_pieces(report)
    by_cause: dict[_Cause, list[CaseResult]] = {}
    for result in report.report.results:
        if result.status in _KINDS:
            by_cause.setdefault(_cause(result, only, changed), []).append(result)
    found = [
        Example(first, tuple(result.name for result in others), cause.parts, cause.is_only)
        for cause, group in by_cause.items()
        for first, *others in [sorted(group, key=lambda result: len(result.case.text))]
    ]
    return sorted(found, key=lambda example: len(example.alike), reverse=True)


def _only_part(report: ChangeReport) -> tuple[str, ...]:
    """Return what alone can be the reason, as one part in one name or two; nothing if there may be others."""
    names = tuple(part.name for part in report.parts if part.name not in _NOT_FOR_IDS)
    is_one = len(names) == 1 or set(names) == _ALIKE
    if names == (_SETTINGS,):
        changes = next(part.changes for part in report.parts if part.name == _SETTINGS)
        is_one = len(_own_changes(changes)) <= 1
    return names if is_one and _all_is_compared(report) else ()


def _own_changes(changes: Sequence[Change]) -> list[str]:
    """Name the settings that ids depend on and that changed by themselves: not as another one implies them."""
    by_name = {change.what: change for change in changes}
    return [change.what for change in changes if _is_for_ids(change.what) and not _is_implied(change, by_name)]


def _is_for_ids(name: str) -> bool:
    return name != "eog_ids" and (not name.startswith(_SPECIAL_ID) or name.removeprefix(_SPECIAL_ID) in _ROLES_IN_IDS)


def _is_implied(change: Change, by_name: Mapping[str, Change]) -> bool:
    from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS

    if change.what == "strip_accents" and (lowercase := by_name.get("lowercase")):
        return (lowercase.old, lowercase.new) == (change.old, change.new)
    if (pre := by_name.get("pre")) and change is not pre:
        implied = (getattr(PRE_TOKENIZERS.get(name or ""), change.what, None) for name in (pre.old, pre.new))
        return tuple(map(str, implied)) == (change.old, change.new)
    return False


def _all_is_compared(report: ChangeReport) -> bool:
    """Whether the parts hold all that ids depend on.

    That is so for tokverify's own encoder alone, which tells a family; a tokenizer.json has more flags than are
    compared. And tokens that are only spelled otherwise are not told as a part.
    """
    vocabulary = report.report.vocabulary
    is_ours = report.old.family and report.new.family
    return bool(is_ours and vocabulary is not None and not vocabulary.respelled and not report.not_compared)


def _changed_pieces(report: ChangeReport) -> Mapping[str, Set[str]]:
    return {part.name: {change.what for change in part.changes} for part in report.parts if part.name in _OF_TOKENS}


def _cause(result: CaseResult, only: tuple[str, ...], changed: Mapping[str, Set[str]]) -> _Cause:
    if result.status is Status.MISMATCH:
        if only:
            return _Cause(result.status, only, is_only=True)
        if parts := tuple(name for name, pieces in changed.items() if _differs_only_at(result, pieces)):
            return _Cause(result.status, parts)
    sample = Sample(result.case.text, result.add_special, result.parse_special)
    kind = _KINDS[result.status]
    return _Cause(TrialOutcome(sample, kind, result.actual, result.expected, result.message or "").fingerprint)


def _differs_only_at(result: CaseResult, pieces: Set[str]) -> bool:
    """Whether wherever the two sides differ, one of them has one of some pieces."""
    blocks = [block for block in result.difference.blocks if not block.equal] if result.difference else []
    return bool(blocks) and all(
        any(token.piece in pieces for token in (*block.actual, *block.expected)) for block in blocks
    )
