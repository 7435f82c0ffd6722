"""Read a JSON report of `tokverify fuzz` back; of its times there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.report.fuzz import (
    DecodedBytes,
    DifferenceKind,
    FoundText,
    FuzzCause,
    FuzzCoverage,
    FuzzReport,
    GeneratorTally,
    Share,
    Stop,
)
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
        report=report,
        strings=summary.get("strings").count(),
        failing=summary.get("failing").count(),
        skipped=summary.get("skipped").count(),
        unlisted=summary.get("unlisted").count(),
        stop=summary.get("stop").one_of(Stop),
        notes=tuple(root.get("notes").items(JsonNode.string)),
        coverage=FuzzCoverage(_share(coverage.get("pieces")), coverage.get("merges").optional(_share)),
        generators=root.get("generators").entries(
            lambda made: GeneratorTally(made.get("strings").count(), made.get("failing").count())
        ),
        causes=_causes(root.get("causes"), report.results),
    )


def _share(node: JsonNode) -> Share:
    return Share(node.get("done").count(), node.get("total").count())


def _causes(node: JsonNode, results: tuple[CaseResult, ...]) -> tuple[FuzzCause, ...]:
    items = node.items(lambda item: item)
    if len(items) != len(results):
        raise node.error(f"a list of one cause for each of the {len(results)} cases")
    return tuple(map(_cause, items, results))


def _cause(node: JsonNode, result: CaseResult) -> FuzzCause:
    if node.get("case").string() != result.case.id:
        raise node.get("case").error(f"{result.case.id!r}, as the causes are in the order of the cases")
    return FuzzCause(
        case=result.case.id,
        kind=node.get("kind").one_of(DifferenceKind),
        strings=node.get("strings").count(),
        generator=node.get("generator").string(),
        found=_found(node.get("found")),
        decoded=_decoded(node.get("decoded")) if node.has("decoded") else None,
    )


def _decoded(node: JsonNode) -> DecodedBytes:
    return DecodedBytes(*(node.get(role).get("bytes").hex_bytes() for role in ("actual", "expected")))


def _found(node: JsonNode) -> FoundText:
    flags = (node.get(name).boolean() for name in ("add_special", "parse_special"))
    return FoundText(node.get("text").string(), *flags)
