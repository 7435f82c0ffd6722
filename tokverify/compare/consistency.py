"""Check that a tokenizer encodes a text in the same way whenever it is asked, alone or with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tokverify.case import Case
from tokverify.report.run import CaseResult, Status
from tokverify.texts.alignment import compare
from tokverify.texts.batch import FAILURES, Encoded, answer, encode_all, ids_or_none
from tokverify.texts.mode import mode_of
from tokverify.tokenizer import BatchEncoding, Tokenizer, tokens_for_display

REPEATED, BATCHED = "repeated", "batched"
"""The suites of the results."""

_NOTES = {
    REPEATED: "actual are the ids when the text is encoded first, expected those when it is encoded again",
    BATCHED: "actual are the ids of the text alone, expected those in a request with other texts",
}


def check_consistency(tokenizer: Tokenizer, cases: Sequence[Case]) -> Iterator[CaseResult]:
    """Encode texts twice, the second time in reverse order, and then all in one request if the tokenizer can do that.

    Args:
        tokenizer: The tokenizer to check.
        cases: The texts, with options that the tokenizer supports. One that it cannot encode must fail every time.

    Yields:
        A result for each text and way of asking.
    """
    modes = list(map(mode_of, cases))
    asked = [(case.text, mode._asdict()) for case, mode in zip(cases, modes, strict=True)]
    first = [answer(tokenizer.encode, text, **options) for text, options in asked]
    again = [answer(tokenizer.encode, text, **options) for text, options in reversed(asked)][::-1]
    yield from _compare_all(tokenizer, REPEATED, cases, first, again)
    if isinstance(tokenizer, BatchEncoding):
        together = encode_all(tokenizer, [case.text for case in cases], modes)
        yield from _compare_all(tokenizer, BATCHED, cases, first, together)


def _compare_all(
    tokenizer: Tokenizer,
    suite: str,
    cases: Sequence[Case],
    first: Sequence[Encoded],
    others: Sequence[Encoded],
) -> Iterator[CaseResult]:
    for case, ids, other in zip(cases, first, others, strict=True):
        yield _compare(tokenizer, replace(case, suite=suite, id=f"{case.suite}-{case.id}", expect={}), ids, other)


def _compare(tokenizer: Tokenizer, case: Case, first: Encoded, again: Encoded) -> CaseResult:
    result = CaseResult(case, Status.MATCH, add_special=case.add_special, parse_special=case.parse_special)
    failures = [each for each in (first, again) if isinstance(each, FAILURES)]
    if len(failures) > 1:
        return replace(result, status=Status.SKIPPED, message="the text cannot be encoded")
    if failures:
        message = f"encoded only once ({failures[0]}); {_NOTES[case.suite]}"
        return replace(result, status=Status.ERROR, message=message)
    ids, other = ids_or_none(first) or (), ids_or_none(again) or ()
    result = replace(result, actual=ids, expected=other)
    if ids == other:
        return result
    shown = [tokens_for_display(tokenizer, each) for each in (ids, other)]
    return replace(result, status=Status.MISMATCH, difference=compare(*shown), notes=(_NOTES[case.suite],))
