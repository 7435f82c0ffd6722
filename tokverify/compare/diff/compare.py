"""Compare two versions of a tokenizer: their parts, and their ids for cases, generated texts and a corpus.

For each cause of other ids, one case becomes an example.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.diff.consequences import Consequences
from tokverify.compare.diff.pairing import Comparison, Pair, judge_pair
from tokverify.compare.diff.parts import compare_parts
from tokverify.compare.diff.version import Version
from tokverify.compare.fuzz.plan import FuzzPlan
from tokverify.compare.fuzz.trial import TrialOutcome
from tokverify.errors import EncodeError, GoneError, UnsupportedError
from tokverify.report.diff import (
    ChangeReport,
    Effect,
    Example,
    Level,
    Pairing,
    Part,
    PartChange,
    Use,
    new_side,
    old_side,
    pairing_exit_code,
)
from tokverify.report.fuzz import DifferenceKind, FuzzProgress, FuzzReport
from tokverify.report.run import FAILING, CaseResult, Report, Status
from tokverify.texts.mode import Mode, Modes
from tokverify.texts.sample import Sample
from tokverify.tokenizer import Tokenizer
from tokverify.version import __version__

_KINDS = {Status.MISMATCH: DifferenceKind.IDS, Status.ERROR: DifferenceKind.ERROR}
_TOKEN_PARTS = frozenset({"tokens", "types", "scores", "added tokens"})
_IRRELEVANT_TO_IDS = frozenset({"chat templates"})
_SAME_CHANGE = frozenset({"types", "added tokens"})
"""Two parts that can both show the same change."""
_SETTINGS = "settings"
_SPECIAL_ID = "special_ids."
_ROLES_IN_IDS = frozenset({"bos", "eos", "sep", "unk"})


def compare_versions(  # noqa: PLR0913 - the optional ones are keywords
    old: Version,
    new: Version,
    cases: Sequence[Case],
    *,
    plan: FuzzPlan | None = None,
    corpus: Iterable[str] | None = None,
    behavior_only: bool = False,
    breaking: Sequence[Level] = (),
    uses: Sequence[Use] = (),
    on_fuzz: Callable[[FuzzProgress], None] = lambda _: None,
) -> ChangeReport:
    """Compare two versions of a tokenizer; the options are those of `diff_tokenizers`, except for two.

    `plan` says what to fuzz (None: nothing), and `corpus` has lines of real text. The ids that `cases` expect from
    particular tokenizers are ignored.
    """
    texts = [replace(case, expect={}) for case in cases]

    @cache
    def compare() -> Comparison:
        parts, not_compared, report = _compare_declared_and_cases(old, new, texts)
        effect = None if corpus is None else measure(old.tokenizer, new.tokenizer, corpus)
        # Last, because Ctrl-C ends it and must leave the rest complete.
        fuzzed = _fuzz(old, new, plan, on_fuzz) if plan else None
        file = new.file or old.file
        found = add_examples(ChangeReport(parts, report, fuzzed, effect, not_compared, behavior_only, file))
        consequences = Consequences(old, new, found)
        found = replace(found, consequences=tuple(consequences.find()), breaking=tuple(breaking))
        return Comparison(found, consequences.list_ids)

    pairings = judge_pair(Pair(old, new, texts, compare), uses)
    is_decided = pairing_exit_code(pairings) == 1 and not compare.cache_info().currsize
    if is_decided and not (plan or breaking) and corpus is None:
        return _report_decided(old, new, pairings)
    return replace(compare().report, pairings=pairings)


def _report_decided(old: Version, new: Version, pairings: tuple[Pairing, ...]) -> ChangeReport:
    """Report a pair of which the rest would take seconds to compare, and could not change the answer."""
    run = Report(new.side, old.side, vocabulary=None, results=(), versions={"tokverify": __version__})
    return ChangeReport((), run, file=new.file or old.file, pairings=pairings)


def _compare_declared_and_cases(
    old: Version, new: Version, texts: Sequence[Case]
) -> tuple[tuple[Part, ...], tuple[str, ...], Report]:
    # What another GGUF file does is no limit. The parts are compared below, and in more detail.
    explain, sides = not old.is_gguf, (new.side, old.side)
    report = verify_tokenizers(new.tokenizer, old.tokenizer, texts, sides=sides, explain=explain, only_texts=True)
    if report.gone:
        raise GoneError(report.gone)
    return *compare_parts(old, new, report.vocabulary), report


def _fuzz(old: Version, new: Version, plan: FuzzPlan, on_fuzz: Callable[[FuzzProgress], None]) -> FuzzReport:
    from tokverify.compare.fuzz.loop import fuzz

    return fuzz(new.tokenizer, old.tokenizer, plan, sides=(new.side, old.side), on_progress=on_fuzz)


def measure(old: Tokenizer, new: Tokenizer, lines: Iterable[str]) -> Effect:
    """Count the lines and bytes of a corpus whose ids change.

    A line that only one side can encode has changed. One that a side does not support is skipped.
    """
    count = changed_count = size = changed_size = old_tokens = new_tokens = skipped_count = 0
    modes = Modes(old, new)
    for line in lines:
        mode = modes.choose(line, Mode(add_special=False, parse_special=True))
        try:
            before, after = _encode(old, line, mode), _encode(new, line, mode)
        except UnsupportedError:
            skipped_count += 1
            continue
        line_size = len(line.encode())
        count += 1
        size += line_size
        if before != after:
            changed_count += 1
            changed_size += line_size
        old_tokens += len(before or ())
        new_tokens += len(after or ())
    return Effect(count, changed_count, size, changed_size, old_tokens, new_tokens, skipped_count)


def _encode(tokenizer: Tokenizer, text: str, mode: Mode) -> list[int] | None:
    try:
        return list(tokenizer.encode(text, **mode._asdict()))
    except EncodeError:
        return None


class _Cause(NamedTuple):
    key: Hashable
    parts: tuple[str, ...] = ()
    is_only: bool = False


def add_examples(report: ChangeReport) -> ChangeReport:
    """Store in a report one example per cause: the case with the shortest text. The most frequent cause comes first.

    Cases share a cause if only one part changed (of the settings, only one and what it implies), if they differ only at
    tokens that changed in the same parts, or if the same ids are replaced by the same ids in them, as in fuzzing.
    """
    only, changed = _find_only_part(report), _list_changed_pieces(report)
    results = report.report.results
    by_cause: dict[_Cause, list[int]] = {}
    for index, result in enumerate(results):
        if result.status in FAILING:
            by_cause.setdefault(_find_cause(result, only, changed), []).append(index)
    examples = []
    for cause, indexes in by_cause.items():
        first, *others = sorted(indexes, key=lambda index: len(results[index].case.text))
        names = tuple(results[index].case.name for index in others)
        examples.append(Example(first, names, cause.parts, cause.is_only))
    examples.sort(key=lambda example: len(example.others), reverse=True)
    return replace(report, examples=tuple(examples))


def _find_only_part(report: ChangeReport) -> tuple[str, ...]:
    """Return the part that must be the cause, which may have two names; nothing if there may be several causes."""
    names = tuple(part.name for part in report.parts if part.name not in _IRRELEVANT_TO_IDS)
    is_one = len(names) == 1 or set(names) == _SAME_CHANGE
    if names == (_SETTINGS,):
        changes = next(part.changes for part in report.parts if part.name == _SETTINGS)
        is_one = len(_list_own_changes(changes)) <= 1
    return names if is_one and _is_all_compared(report) else ()


def _list_own_changes(changes: Sequence[PartChange]) -> list[str]:
    """List the changed settings that affect ids, except those that changed only because another setting did."""
    by_name = {change.what: change for change in changes}
    return [change.what for change in changes if _affects_ids(change.what) and not _is_implied(change, by_name)]


def _affects_ids(name: str) -> bool:
    if name.startswith(_SPECIAL_ID):
        return name.removeprefix(_SPECIAL_ID) in _ROLES_IN_IDS
    return name != "eog_ids"


def _is_implied(change: PartChange, by_name: Mapping[str, PartChange]) -> bool:
    from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS

    lowercase, pre = by_name.get("lowercase"), by_name.get("pre")
    if change.what == "strip_accents" and lowercase:
        return (lowercase.old, lowercase.new) == (change.old, change.new)
    if pre and change is not pre:
        implied = (getattr(PRE_TOKENIZERS.get(name or ""), change.what, None) for name in (pre.old, pre.new))
        return tuple(map(str, implied)) == (change.old, change.new)
    return False


def _is_all_compared(report: ChangeReport) -> bool:
    """Check that the parts contain everything that ids depend on.

    That is true only of tokverify's own encoder, which has a family: a tokenizer.json has more flags than are compared.
    And tokens that are only stored differently are not listed as a part.
    """
    vocabulary = report.report.vocabulary
    is_ours = old_side(report).family and new_side(report).family
    return bool(is_ours and vocabulary is not None and not vocabulary.respelled and not report.not_compared)


def _list_changed_pieces(report: ChangeReport) -> dict[str, Set[str]]:
    return {part.name: {change.what for change in part.changes} for part in report.parts if part.name in _TOKEN_PARTS}


def _find_cause(result: CaseResult, only: tuple[str, ...], changed: Mapping[str, Set[str]]) -> _Cause:
    if result.status is Status.MISMATCH:
        if only:
            return _Cause(result.status, only, is_only=True)
        parts = tuple(name for name, pieces in changed.items() if _differs_only_at(result, pieces))
        if parts:
            return _Cause(result.status, parts)
    sample = Sample(result.case.text, result.add_special, result.parse_special)
    kind = _KINDS[result.status]
    return _Cause(TrialOutcome(sample, kind, result.actual, result.expected, result.message or "").fingerprint)


def _differs_only_at(result: CaseResult, pieces: Set[str]) -> bool:
    """Check that one of `pieces` is involved in every place where the two sides differ."""
    blocks = [block for block in result.difference.blocks if not block.equal] if result.difference else []
    return bool(blocks) and all(
        any(token.piece in pieces for token in (*block.actual, *block.expected)) for block in blocks
    )
