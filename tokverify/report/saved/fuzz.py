"""Read a JSON report of `tokverify fuzz` back; of its times there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.fuzz.cause import Cause
from tokverify.fuzz.coverage import Share
from tokverify.fuzz.sample import Sample
from tokverify.fuzz.trial import Kind, Outcome
from tokverify.report.fuzz import FuzzReport, Stop
from tokverify.report.saved.json_node import JsonNode
from tokverify.report.saved.run import restore_comparison

if TYPE_CHECKING:
    from tokverify.report.run import CaseResult


def restore_fuzz(root: JsonNode) -> FuzzReport:
    """Return the report of a fuzzing run.

    Raises:
        TokverifyError: If a part of it is not as it should be.
    """
    report, summary, coverage = restore_comparison(root), root.get("summary"), root.get("coverage")
    return FuzzReport(
        report,
        causes=_causes(root.get("causes"), report.results),
        strings=summary.get("strings").count(),
        failing=summary.get("failing").count(),
        skipped=summary.get("skipped").count(),
        unlisted=summary.get("unlisted").count(),
        by_generator=root.get("generators").entries(
            lambda made: (made.get("strings").count(), made.get("failing").count())
        ),
        pieces=_share(coverage.get("pieces")),
        merges=coverage.get("merges").optional(_share),
        stop=summary.get("stop").one_of(Stop),
        notes=tuple(root.get("notes").items(JsonNode.string)),
    )


def _share(node: JsonNode) -> Share:
    return Share(node.get("done").count(), node.get("total").count())


def _causes(node: JsonNode, results: tuple[CaseResult, ...]) -> tuple[Cause, ...]:
    items = node.items(lambda item: item)
    if len(items) != len(results):
        raise node.error(f"a list of one cause for each of the {len(results)} cases")
    return tuple(map(_cause, items, results))


def _cause(node: JsonNode, result: CaseResult) -> Cause:
    if node.get("case").string() != result.case.id:
        raise node.get("case").error(f"{result.case.id!r}, as the causes are in the order of the cases")
    return Cause(
        outcome=_outcome(node, result),
        result=result,
        found=_sample(node.get("found")),
        generator=node.get("generator").string(),
        strings=node.get("strings").count(),
    )


def _outcome(node: JsonNode, result: CaseResult) -> Outcome:
    kind = node.get("kind").one_of(Kind)
    sample = Sample(result.case.text, result.add_special, result.parse_special)
    if kind is Kind.IDS:
        return Outcome(sample, kind, list(result.actual), list(result.expected))
    if kind is Kind.DECODING and node.has("decoded"):
        decoded = node.get("decoded")
        actual, expected = (decoded.get(role).get("bytes").hex_bytes() for role in ("actual", "expected"))
        return Outcome(sample, kind, actual, expected)
    return Outcome(sample, kind, message=result.message or "")


def _sample(node: JsonNode) -> Sample:
    flags = (node.get(name).boolean() for name in ("add_special", "parse_special"))
    return Sample(node.get("text").string(), *flags)
