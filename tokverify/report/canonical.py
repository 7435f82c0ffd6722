"""The report of `tokverify canonical`: which logged ids are not the encoding of their own text, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tokverify.report.fields import Count, MeaningEnum
from tokverify.report.run import Report
from tokverify.report.run_check import check_run


class Deviation(MeaningEnum):
    """Why a sequence is not the encoding of its own text."""

    UNKNOWN_ID = "unknown-id", "an id is not in the vocabulary"
    NOT_UTF8 = "not-utf8", "the bytes of the tokens are not a text, such as part of a character"
    SPECIAL_TEXT = "special-text", "ordinary tokens spell the text of a special token"
    SPACE_PREFIX = "space-prefix", "the tokenizer adds a space before a text, which the log lacks"
    NORMALIZED = "normalized", "encoding changes the text, so that its tokens represent other bytes"
    BOUNDARY = "boundary", "the text is split differently across the place where two logged parts meet"
    SEGMENTATION = (
        "segmentation",
        "the text is split differently, as when a model samples tokens that encoding never chooses",
    )
    NOT_ENCODED = "not-encoded", "the tokenizer cannot encode the text"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviationCount:
    """A cause, and the sequences whose first deviation it explains."""

    cause: Deviation
    """Why they deviate."""
    sequences: Count
    """How many sequences deviate so first."""
    cases: tuple[str, ...] = ()
    """The ids of the results that are examples of it, in the order of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalReport:
    """The result of checking a log."""

    report: Report
    """The tokenizer as the actual side, the log as the expected one, and a result for each example."""
    sequences: Count
    """The sequences in the log."""
    tokens: Count
    """The ids in all sequences."""
    deviating: Count
    """The sequences that are not the encoding of their own text."""
    deviating_tokens: Count
    """The logged tokens that the encoding of the text does not contain at the same place."""
    causes: tuple[DeviationCount, ...] = ()
    """In the order of `Deviation`."""


def canonical_exit_code(checked: CanonicalReport) -> int:
    """Return 2 if the log is empty, 1 if a sequence deviates, and else 0."""
    return 2 if not checked.tokens else int(checked.deviating > 0)


def summarize_canonical(checked: CanonicalReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": canonical_exit_code(checked),
        "sequences": checked.sequences,
        "tokens": checked.tokens,
        "deviating": checked.deviating,
        "deviating_tokens": checked.deviating_tokens,
        "causes": {str(count.cause): count.sequences for count in checked.causes},
    }


def check_canonical(checked: CanonicalReport, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    yield from check_run(checked.report, f"{path}.report")
    if checked.deviating > checked.sequences:
        yield f"{path}.deviating: expected at most {checked.sequences:,}, the number of sequences"
    if checked.deviating_tokens > checked.tokens:
        yield f"{path}.deviating_tokens: expected at most {checked.tokens:,}, the number of tokens"
    if sum(count.sequences for count in checked.causes) != checked.deviating:
        yield f"{path}.causes: expected to explain {checked.deviating:,} sequences, the number of deviating ones"
    ids = {result.case.id for result in checked.report.results}
    for index, count in enumerate(checked.causes):
        if not set(count.cases) <= ids:
            yield f"{path}.causes[{index}].cases: expected ids of results"
