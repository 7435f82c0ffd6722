"""Write the page of `tokverify stream`: each failure with the decoded and the streamed text."""

from __future__ import annotations

from tokverify.render.html.page import page, version_list
from tokverify.render.run.html import entries, outcome, side_data
from tokverify.render.stream.verdict import describe_failure, failure_texts, side_facts, verdict
from tokverify.report.stream import StreamedSide, StreamReport, stream_exit_code
from tokverify.text.visible import visible_message

_OUTCOMES = {
    0: ("Passed", "all texts decoded id by id equal those decoded at once"),
    1: ("Failed", "a text decoded id by id differs from the text decoded at once"),
    2: ("Nothing streamed", "some side could not stream any text"),
}


def render(report: StreamReport) -> str:
    """Write a page that contains all failures."""
    name = visible_message(report.sides[0].side.name)
    context = {
        **outcome(name, verdict(report), stream_exit_code(report), _OUTCOMES),
        "sides": [
            (role, side_data(streamed.side))
            for role, streamed in zip(("model", "reference"), report.sides, strict=False)
        ],
        "streamed": list(map(_describe_side, report.sides)),
        "options": list(entries(report.options)),
        "versions": version_list(report.versions),
    }
    return page("stream/page.html.jinja", ["html/page.js"], context)


def _describe_side(streamed: StreamedSide) -> dict[str, object]:
    return {
        "name": visible_message(streamed.side.name),
        "facts": side_facts(streamed),
        "failures": [(describe_failure(failure), failure_texts(failure)) for failure in streamed.failures],
    }
