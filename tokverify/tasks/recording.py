"""Recording: the ids that a reference gives, as what cases expect of a model, so that these do without it later."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError, TokverifyError, UnsupportedError
from tokverify.verify.expectation import agrees

if TYPE_CHECKING:
    from tokverify.cases.case import Case, Expect
    from tokverify.cases.suite import Suite
    from tokverify.report.run import Side
    from tokverify.tokenizer import Tokenizer


class Change(StrEnum):
    """What recording did to a case."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    NOT_RECORDED = "not recorded"


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """What became of one case.

    `ids` are the reference's, and `message` says why there are none. `model_agrees` tells whether the model gives the
    same.
    """

    case: Case
    change: Change
    ids: tuple[int, ...] = ()
    message: str = ""
    model_agrees: bool = True


@dataclass(frozen=True, slots=True)
class Recording:
    """Everything that was recorded: whose ids, for which model, and what became of the files.

    `key` is what the ids are recorded under, and `names_model` tells whether a run on this model goes by that.
    `written` are the files that were written, `untouched` those that say the same already.
    """

    actual: Side
    expected: Side
    key: str
    names_model: bool
    results: tuple[RecordedCase, ...]
    written: tuple[Path, ...] = ()
    untouched: tuple[Path, ...] = ()

    def count(self, change: Change) -> int:
        """Count the cases with this outcome."""
        return sum(result.change is change for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 if every case was recorded, 1 if one was not, 2 if none was."""
        left_out = self.count(Change.NOT_RECORDED)
        return 0 if not left_out else 2 if left_out == len(self.results) else 1


def record(
    actual: Tokenizer,
    expected: Tokenizer,
    cases: Sequence[Case],
    key: str,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[RecordedCase]:
    """Encode cases with a reference, for them to expect of the model under `key`.

    Args:
        actual: The model.
        expected: The reference.
        cases: What to encode.
        key: What names the model; what cases expect under it already and still holds stays as it is.
        on_progress: Called after each case with the number of cases done and of all.
    """
    results: list[RecordedCase] = []
    for case in cases:
        results.append(_record(actual, expected, case, key))
        if on_progress:
            on_progress(len(results), len(cases))
    return results


def _record(actual: Tokenizer, expected: Tokenizer, case: Case, key: str) -> RecordedCase:
    try:
        ids = _reference_ids(actual, expected, case)
    except (EncodeError, UnsupportedError) as error:
        return RecordedCase(case, Change.NOT_RECORDED, message=f"{expected.name}: {error}")
    agreed = _encoded(actual, case.text, _asked(case)) == ids
    return RecordedCase(case, _change(case.expect.get(key), actual, ids), ids, model_agrees=agreed)


def _change(before: Expect | None, actual: Tokenizer, ids: tuple[int, ...]) -> Change:
    if before is None:
        return Change.ADDED
    return Change.UNCHANGED if agrees(before, actual, ids) else Change.CHANGED


def _asked(case: Case) -> dict[str, bool]:
    return {"add_special": case.add_special, "parse_special": case.parse_special}


def _reference_ids(actual: Tokenizer, expected: Tokenizer, case: Case) -> tuple[int, ...]:
    """Encode a case with the reference; what that cannot do is left out where it makes no difference to the model."""
    asked, able = _asked(case), {"add_special": expected.adds_special, "parse_special": expected.parses_special}
    missed = [option for option in asked if asked[option] and not able[option]]
    ids = _encoded(actual, case.text, asked) if missed else None
    decisive = [option for option in missed if _encoded(actual, case.text, asked | {option: False}) != ids]
    if decisive:
        raise UnsupportedError(f"it cannot do {' and '.join(decisive)}, which changes the ids of this text")
    return tuple(expected.encode(case.text, **(asked | dict.fromkeys(missed, False))))


def _encoded(tokenizer: Tokenizer, text: str, options: Mapping[str, bool]) -> tuple[int, ...] | None:
    """Encode a text; None where that cannot be done."""
    try:
        return tuple(tokenizer.encode(text, **options))
    except (EncodeError, UnsupportedError):
        return None


def to_write(results: Iterable[RecordedCase]) -> dict[str, tuple[int, ...]]:
    """Return the ids that are not in the suite yet, by the id of their case."""
    return {result.case.id: result.ids for result in results if result.change in {Change.ADDED, Change.CHANGED}}


def check_recorded(suite: Suite, text: str, key: str, ids: Mapping[str, tuple[int, ...]]) -> None:
    """Make sure that the new text of a suite says what it said before, and expects `ids` under `key`.

    Raises:
        TokverifyError: If it does not.
    """
    from tokverify.cases.suite import MAX_FILE_BYTES, parse_suite

    if len(text.encode()) > MAX_FILE_BYTES:
        raise TokverifyError(f"{suite.file}: would become larger than {MAX_FILE_BYTES >> 20} MiB; split it")
    new = parse_suite(text, suite.file, suite.name)
    wanted = [
        replace(case, line=0, expect={**case.expect, key: ids[case.id]} if case.id in ids else case.expect)
        for case in suite.cases
    ]
    if new.complaints or [replace(case, line=0) for case in new.cases] != wanted:
        raise TokverifyError(
            f"{suite.file}: cannot be recorded into without changing more than that; write out aliases (*name) and keys"
            " after `?`, and end each line, the last one too, with a newline"
        )
