"""Counts and verdicts that follow from the data of a run's report."""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.report.run import FAILING as FAILING  # noqa: PLC0414 - render/ imports it from here
from tokverify.report.run import CaseResult, Report, Status, VocabularyDifference
from tokverify.report.tokenizer_difference import TokenizerDifference, select_failing
from tokverify.report.verdict import Verdict


def count_status(report: Report, status: Status) -> int:
    """Count the results with a status."""
    return sum(result.status is status for result in report.results)


def count_decode_differences(report: Report) -> int:
    """Count the cases whose ids the two sides decode differently; they do not change the exit code."""
    return sum(result.decode_difference is not None for result in report.results)


def has_failing_case(report: Report) -> bool:
    """Check whether a case fails that neither a baseline nor a limit explains."""
    return any(result.fails for result in report.results)


def count_explained(report: Report) -> int:
    """Count the cases that limits explain."""
    return sum(bool(result.explained_by) for result in report.results)


def failing_differences(report: Report) -> tuple[TokenizerDifference, ...]:
    """Return the differences between the tokenizers that make the run fail."""
    return select_failing(report.differences, report.fail_on)


def run_exit_code(report: Report) -> int:
    """Return the exit code that follows from the verdict."""
    return report.exit_code


def compares_nothing(report: Report) -> bool:
    """Check whether nothing was compared."""
    return report.verdict is Verdict.NOT_COMPARABLE and not report.gone


def other_side(result: CaseResult) -> str:
    """Name the side opposite `actual`: the case's own `expect` where both sides agree against it."""
    return "expect" if result.difference and result.actual == result.expected else "expected"


def can_match(result: CaseResult) -> bool:
    """Check whether a case would match with the expected side's ids, which its own `expect` may contradict."""
    if result.expect is None or result.difference is None:
        return True
    if result.actual == result.expected:
        return False
    pieces = tuple(token.piece for block in result.difference.blocks for token in block.expected)
    return result.expect in {result.expected, pieces}


def vocabularies_differ(vocabulary: VocabularyDifference | None) -> bool:
    """Check whether two vocabularies were compared and differ; tokens that are only stored differently do not count."""
    if vocabulary is None:
        return False
    sizes_differ = vocabulary.actual_size != vocabulary.expected_size
    return sizes_differ or bool(vocabulary.pieces or vocabulary.special_ids)


def summarize_run(report: Report) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": report.exit_code,
        "verdict": str(report.verdict),
        "cases": len(report.results),
        **{str(status): count_status(report, status) for status in Status},
        "explained": count_explained(report),
        "unexplained": sum(result.fails for result in report.results),
        "decode_differences": count_decode_differences(report),
        "vocabularies_differ": vocabularies_differ(report.vocabulary),
        "differences": len(report.differences),
        "failing_differences": len(failing_differences(report)),
        "stopped_early": report.stopped_early,
        "gone": report.gone,
    }
