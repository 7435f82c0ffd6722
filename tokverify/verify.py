"""Verify one tokenizer against another: encode every case on both sides and report where they differ."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from tokverify.diff import compare
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report import CaseResult, Report, Status
from tokverify.side import side_of
from tokverify.tokenizer import shown_tokens
from tokverify.vocabulary import compare_vocabularies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tokverify.cases import Case
    from tokverify.report import Side
    from tokverify.tokenizer import Tokenizer

_MIN_FINGERPRINT_DIGITS = 8
_NO_NOTES: tuple[str, ...] = ()


def verify(  # noqa: PLR0913 - the optional ones are keywords
    actual: Tokenizer,
    expected: Tokenizer,
    cases: Iterable[Case],
    *,
    sides: tuple[Side, Side] | None = None,
    fail_fast: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Encode every case with both tokenizers and compare the ids.

    A case that one side cannot encode is an error in the report, not an exception.

    Args:
        actual: The tokenizer under test.
        expected: The one that is taken to be right.
        cases: What to encode, in the order of the report.
        sides: How the report describes the two; worked out from the tokenizers if not given.
        fail_fast: Stop after the first case that does not pass.
        on_progress: Called after each case with the number of cases done and of all.
    """
    from tokverify import __version__

    cases = list(cases)
    comparison = _Comparison(actual, expected, *(sides or (side_of(actual), side_of(expected))))
    results: list[CaseResult] = []
    for case in cases:
        results.append(comparison.result(case))
        if on_progress:
            on_progress(len(results), len(cases))
        if fail_fast and results[-1].status in {Status.MISMATCH, Status.ERROR}:
            break
    return Report(
        comparison.actual_side,
        comparison.expected_side,
        vocabulary=compare_vocabularies(actual, expected),
        results=tuple(results),
        versions={"tokverify": __version__},
        stopped_early=len(results) < len(cases),
    )


class _Mode(NamedTuple):
    """The options of one encode call."""

    add_special: bool
    parse_special: bool


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Two tokenizers, with how the report names them."""

    actual: Tokenizer
    expected: Tokenizer
    actual_side: Side
    expected_side: Side

    def result(self, case: Case) -> CaseResult:
        """Compare the two sides on one case."""
        mode = self._common_mode(case)
        try:
            return self._compare(case, mode)
        except EncodeError as error:
            return CaseResult(case, Status.ERROR, message=str(error), **mode._asdict())
        except UnsupportedError as error:
            return CaseResult(case, Status.SKIPPED, message=str(error), **mode._asdict())

    def _common_mode(self, case: Case) -> _Mode:
        """Return the options of the case as far as both sides can honor them."""
        return _Mode(
            case.add_special and self.actual.adds_special and self.expected.adds_special,
            case.parse_special and self.actual.parses_special and self.expected.parses_special,
        )

    def _compare(self, case: Case, mode: _Mode) -> CaseResult:
        _check_encodable(case.text)
        actual = self._encode_actual(case.text, mode)
        expected = self._encode_expected(case.text, mode)
        expect, notes = self._expect(case), _NO_NOTES
        if case.expect and expect is None:
            notes = (f"`expect` is for {', '.join(case.expect)}, which neither side is, and was not checked",)
        asked = _Mode(case.add_special, case.parse_special)
        if mode != asked and self._encode_actual(case.text, asked) != actual:
            expect, notes = None, self._mode_notes(asked, mode, expect)
        decoded, decode_notes = self._decode(expected)
        result = CaseResult(
            case,
            Status.MATCH,
            actual,
            expected,
            notes=notes + decode_notes,
            expect=expect,
            decode_difference=decoded,
            **mode._asdict(),
        )
        return result if actual == expected and expect in {None, actual} else self._mismatch(result)

    def _mode_notes(self, asked: _Mode, mode: _Mode, expect: tuple[int, ...] | None) -> tuple[str, ...]:
        off = [option for option in _Mode._fields if getattr(asked, option) != getattr(mode, option)]
        unable = [
            side.name
            for tokenizer, side in ((self.actual, self.actual_side), (self.expected, self.expected_side))
            if (asked.add_special and not tokenizer.adds_special)
            or (asked.parse_special and not tokenizer.parses_special)
        ]
        reason = f"{' and '.join(unable)} cannot do it, and it would change the ids of this text"
        notes = [f"compared with {' and '.join(off)} off: {reason}"]
        if expect is not None:
            notes.append("the case's own `expect` was not checked, for the same reason")
        return tuple(notes)

    def _mismatch(self, result: CaseResult) -> CaseResult:
        if result.actual != result.expected or result.expect is None:
            right = shown_tokens(self.expected, result.expected)
        else:
            right = shown_tokens(self.actual, result.expect)
        return replace(
            result,
            status=Status.MISMATCH,
            difference=compare(shown_tokens(self.actual, result.actual), right),
            notes=result.notes + _expect_notes(result),
        )

    def _encode_actual(self, text: str, mode: _Mode) -> tuple[int, ...]:
        with _blame("actual", self.actual_side):
            return tuple(self.actual.encode(text, **mode._asdict()))

    def _encode_expected(self, text: str, mode: _Mode) -> tuple[int, ...]:
        with _blame("expected", self.expected_side):
            return tuple(self.expected.encode(text, **mode._asdict()))

    def _decode(self, ids: tuple[int, ...]) -> tuple[tuple[bytes, bytes] | None, tuple[str, ...]]:
        """Decode the same ids on both sides; return the two results if they differ, and notes."""
        try:
            with _blame("actual", self.actual_side):
                actual = self._decode_actual(ids)
            with _blame("expected", self.expected_side):
                expected = self.expected.decode(ids)
        except (EncodeError, UnsupportedError) as error:
            return None, (f"decoding was not compared: {error}",)
        return None if actual == expected else (actual, expected), ()

    def _decode_actual(self, ids: tuple[int, ...]) -> bytes:
        from tokverify.encoder import Encoder

        # subtle: llama_detokenize cleans up spaces, which no other reference does.
        if self.expected.name == "llama.cpp" and isinstance(self.actual, Encoder):
            return self.actual.decode(ids, clean_up=True)
        return self.actual.decode(ids)

    def _expect(self, case: Case) -> tuple[int, ...] | None:
        """Return the ids that the case itself wants of one of the two sides."""
        for side in (self.actual_side, self.expected_side):
            for key, ids in case.expect.items():
                if _names(key, side):
                    return ids
        return None


def _names(key: str, side: Side) -> bool:
    if key in {side.name, *side.aliases}:
        return True
    prefix = key.lower()
    return len(prefix) >= _MIN_FINGERPRINT_DIGITS and (side.fingerprint or "").startswith(prefix)


def _check_encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        surrogate = f"U+{ord(text[error.start]):04X}"
        raise EncodeError(
            f"the text has a lone surrogate ({surrogate}) at character {error.start}; UTF-8 cannot carry it"
        ) from None


@contextmanager
def _blame(role: str, side: Side) -> Iterator[None]:
    """Put the side that failed in front of the message."""
    try:
        yield
    except (EncodeError, UnsupportedError) as error:
        raise type(error)(f"{role} ({side.name}): {error}") from error


def _expect_notes(result: CaseResult) -> tuple[str, ...]:
    if result.expect is None:
        return ()
    if result.actual == result.expected:
        return ("both sides agree, but not with the case's own `expect`",)
    agrees = {result.actual: "with actual", result.expected: "with expected"}
    return (f"the case's own `expect` agrees {agrees.get(result.expect, 'with neither side')}",)
