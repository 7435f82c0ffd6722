"""The failures of streaming as issues, for the `github`, `gitlab` and `sarif` formats."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Check, Issue, Level
from tokverify.render.stream.verdict import FAULTS, describe_failure, failure_texts, verdict
from tokverify.report.stream import StreamedSide, StreamFailure, StreamReport, stream_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_CHECKS = tuple(
    Check(f"stream-{fault}", str(fault), f"When ids are decoded one by one, {effect}.", Level.ERROR)
    for fault, effect in FAULTS.items()
)


def to_ci_report(report: StreamReport) -> CiReport:
    """Return what CI systems show of a report."""
    return CiReport(
        issues=(_issue(failure, streamed) for streamed in report.sides for failure in streamed.failures),
        checks=_CHECKS,
        verdict=verdict(report),
        exit_code=stream_exit_code(report),
        skipped=list(_skipped(report)),
        properties={"sides": "; ".join(f"{side.side.source}, by {side.method}" for side in report.sides)},
    )


def _skipped(report: StreamReport) -> Iterator[str]:
    for streamed in report.sides:
        for reason, count in streamed.skipped.items():
            yield visible_message(f"{streamed.side.name}, {plural(count, 'text')}: {reason}")


def _issue(failure: StreamFailure, streamed: StreamedSide) -> Issue:
    sentence = describe_failure(failure)
    texts = [f"{label}: {text}" for label, text in failure_texts(failure)]
    return Issue(
        check=f"stream-{failure.fault}",
        level=Level.ERROR,
        title=f"stream: {visible_message(streamed.side.name)}",
        message="\n".join([sentence, *texts]),
        path=streamed.side.source,
        key=f"{streamed.side.name}\0{failure.case}\0{failure.fault}\0{failure.resumed_at}",
    )
