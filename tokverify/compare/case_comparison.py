"""Compare two tokenizers case by case: the ids of a text, what they decode to, and what the case itself expects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tokverify.case import Case, Expect
from tokverify.compare.expectation import agrees, describe_agreement, describe_missing, expect_of, expected_tokens
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.difference import DecodeDifference
from tokverify.report.run import CaseResult, Status
from tokverify.report.side import Side
from tokverify.text.utf8 import has_surrogate, to_utf8
from tokverify.texts.alignment import compare, compare_decoded
from tokverify.texts.batch import FAILURES, Answers, Failure, Known, combine
from tokverify.texts.mode import Mode, Modes, mode_of
from tokverify.tokenizer import Tokenizer, tokens_for_display

_NO_NOTES: tuple[str, ...] = ()

_STRETCHED = "compared in stretches around the control tokens, which one side never recognizes in a text"

TOGETHER = 32
"""How many cases are encoded together, which is faster than one at a time, before the first of them is reported."""


def comparison_of(  # noqa: PLR0913 - the optional ones are keywords
    actual: Tokenizer,
    expected: Tokenizer | None,
    sides: tuple[Side, Side],
    *,
    aligns: bool = True,
    decodes: bool = True,
    known: Known | None = None,
) -> Comparison:
    """Return what compares cases on `actual` with `expected` or, if that is None, with what each case itself expects.

    What `expected` is known to answer is not asked again; `known` gets further answers.
    """
    ours = Answers(actual, expected or actual, f"actual ({sides[0].name})")
    if expected is None:
        return ExpectComparison(actual, sides[0], ours, aligns)
    theirs = Answers(expected, actual, f"expected ({sides[1].name})", known)
    modes = Modes(actual, expected)
    return ReferenceComparison(actual, sides[0], ours, aligns, expected, sides[1], theirs, modes, decodes)


@dataclass(frozen=True, slots=True)
class Comparison(ABC):
    """Compares a tokenizer with something else, case by case."""

    actual: Tokenizer
    actual_side: Side
    ours: Answers
    """What the actual side answers."""

    aligns: bool
    """Whether to align the tokens where they differ."""

    def results(self, cases: Sequence[Case], count: int = TOGETHER) -> Iterator[CaseResult]:
        """Compare cases; so many are encoded together."""
        for start in range(0, len(cases), count):
            together = cases[start : start + count]
            modes = list(map(self._choose_mode, together))
            asked = [at for at, case in enumerate(together) if not has_surrogate(case.text)]
            self._ask([together[at].text for at in asked], [modes[at] for at in asked])
            yield from map(self._result, together, modes)

    def _ask(self, texts: Sequence[str], modes: Sequence[Mode]) -> None:
        """Ask for everything that is compared of these texts."""
        self.ours.encode_all(texts, modes)

    def _result(self, case: Case, mode: Mode) -> CaseResult:
        try:
            return self._compare(case, mode)
        except EncodeError as error:
            return CaseResult(case, Status.ERROR, message=str(error), **mode._asdict())
        except UnsupportedError as error:
            return CaseResult(case, Status.SKIPPED, message=str(error), **mode._asdict())

    @abstractmethod
    def _choose_mode(self, case: Case) -> Mode:
        """Return the options with which to compare a case."""

    @abstractmethod
    def _compare(self, case: Case, mode: Mode) -> CaseResult:
        """Compare one case with these options."""


@dataclass(frozen=True, slots=True)
class ExpectComparison(Comparison):
    """Compares with what each case itself expects."""

    def _choose_mode(self, case: Case) -> Mode:
        return mode_of(case)

    def _compare(self, case: Case, mode: Mode) -> CaseResult:
        to_utf8(case.text)
        expect = self._expect(case, mode)
        actual = self.ours.ids(case.text, mode)
        if agrees(expect, self.actual, actual):
            return CaseResult(case, Status.MATCH, actual, actual, expect=expect, **mode._asdict())
        tokens = expected_tokens(expect, self.actual, actual)
        return CaseResult(
            case,
            Status.MISMATCH,
            actual,
            tuple(token.id for token in tokens),
            difference=compare(tokens_for_display(self.actual, actual), tokens) if self.aligns else None,
            notes=describe_missing(tokens),
            expect=expect,
            **mode._asdict(),
        )

    def _expect(self, case: Case, mode: Mode) -> Expect:
        expect = expect_of(case, self.actual_side)
        if expect is None:
            others = f", only for {', '.join(case.expect)}" if case.expect else ""
            raise UnsupportedError(
                f"the case has no `expect` for {self.actual_side.name}{others}; add it with `tokverify cases record`"
            )
        supported = (self.actual.adds_special, self.actual.parses_special)
        if any(option and not can for option, can in zip(mode, supported, strict=True)):
            raise UnsupportedError(f"{self.actual_side.name} cannot encode with the options of this case")
        return expect


@dataclass(frozen=True, slots=True)
class ReferenceComparison(Comparison):
    """Compares with another tokenizer, and with what a case itself expects from either side."""

    expected: Tokenizer
    expected_side: Side

    theirs: Answers
    """What the expected side answers."""

    modes: Modes

    decodes: bool
    """Whether to compare what both sides decode the expected ids to."""

    def _ask(self, texts: Sequence[str], modes: Sequence[Mode]) -> None:
        self.ours.encode_all(texts, modes)
        encoded = self.theirs.encode_all(texts, modes)
        for at, (text, mode) in enumerate(zip(texts, modes, strict=True)):
            if self.modes.is_stretched(text):
                encode = partial(self.modes.encode_stretches, self.expected, text)
                encoded[at] = self.theirs.add(text, mode, encode)
        if self.decodes:
            expected = [ids for ids in encoded if not isinstance(ids, FAILURES)]
            self.ours.decode_all(expected)
            self.theirs.decode_all(expected)

    def _choose_mode(self, case: Case) -> Mode:
        if self.modes.is_stretched(case.text):
            return Mode(add_special=False, parse_special=True)
        return self.modes.choose(case.text, mode_of(case))

    def _compare(self, case: Case, mode: Mode) -> CaseResult:
        to_utf8(case.text)
        expect, owner = self._expect(case)
        actual, expected = self._ids(case.text, mode, is_expected=expect is not None)
        notes = _NO_NOTES
        # The expectation of a shipped case is for the one model with which it was found.
        if case.expect and expect is None and not case.shipped:
            notes = (f"`expect` is for {', '.join(case.expect)}, which names neither side; it was not checked",)
        decoded: DecodeDifference | None = None
        if self.modes.is_stretched(case.text):
            # subtle: a tokenizer that never parses control tokens also decodes them in a way of its own.
            expect, notes = None, (_STRETCHED,)
        else:
            if decisive := self.modes.decisive_options(case.text, mode_of(case), mode):
                expect, notes = None, self._describe_mode(case.text, decisive, expect)
            if self.decodes:
                decoded, decode_notes = self._decode(expected)
                notes += decode_notes
        is_match = actual == expected and (expect is None or agrees(expect, owner, actual))
        result = CaseResult(
            case,
            Status.MATCH if is_match else Status.MISMATCH,
            actual,
            expected,
            notes=notes,
            expect=expect,
            decode_difference=decoded,
            **mode._asdict(),
        )
        is_aligned = self.aligns or expect is not None
        return self._align(result, owner) if is_aligned and not is_match else result

    def _describe_mode(self, text: str, decisive: Iterable[str], expect: Expect | None) -> tuple[str, ...]:
        notes = [f"compared with {self.modes.reason(option, text)}" for option in decisive]
        if expect is not None:
            notes.append("the case's own `expect` was not checked, because it is for other options")
        return tuple(notes)

    def _align(self, result: CaseResult, owner: Tokenizer) -> CaseResult:
        notes = result.notes + describe_agreement(result, owner)
        if result.actual != result.expected or result.expect is None:
            right = tokens_for_display(self.expected, result.expected)
        else:
            right = expected_tokens(result.expect, owner, result.actual)
            notes += describe_missing(right)
        difference = compare(tokens_for_display(self.actual, result.actual), right)
        return replace(result, difference=difference, notes=notes)

    def _ids(self, text: str, mode: Mode, *, is_expected: bool) -> list[tuple[int, ...]]:
        """Return the ids of both sides; if neither has any, that is an error only if the case itself expects tokens."""
        results: list[tuple[int, ...]] = []
        failures: list[Failure] = []
        for answers in (self.ours, self.theirs):
            try:
                results.append(answers.ids(text, mode))
            except FAILURES as failure:
                failures.append(failure)
        if failures:
            both = combine(failures)
            raise EncodeError(str(both)) if is_expected and not results else both
        return results

    def _decode(self, ids: tuple[int, ...]) -> tuple[DecodeDifference | None, tuple[str, ...]]:
        """Compare what both sides decode the same ids to; return how the results differ, and notes."""
        try:
            actual, expected = self.ours.text(ids), self.theirs.text(ids)
        except FAILURES as failure:
            return None, (f"decoding was not compared: {failure}",)
        return compare_decoded(actual, expected), ()

    def _expect(self, case: Case) -> tuple[Expect | None, Tokenizer]:
        """Return what the case itself expects from one of the two sides, and that side."""
        expect = expect_of(case, self.actual_side)
        if expect is not None:
            return expect, self.actual
        return expect_of(case, self.expected_side), self.expected
