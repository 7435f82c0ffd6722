"""The live page of `tokverify view`."""

from __future__ import annotations

from tokverify.case import Case
from tokverify.render.case_text import headline
from tokverify.render.draw_html import page
from tokverify.render.run.case_data import cases_data
from tokverify.render.run.html import comparison
from tokverify.report.run import Report, Status
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_SCRIPTS = ("html/page.js", "run/alignment.js", "view/redraw.js", "view/view.js")


def render(report: Report, case: Case) -> str:
    """Write the page for the two sides of a report, which opens with the text and the options of a case."""
    context = {
        **comparison(report),
        "title": f"{visible_message(report.actual.name)}: live",
        "target": "tokens",
        "text": case.text,
        "checked": {"add_special": case.add_special, "parse_special": case.parse_special},
        "options": [],
    }
    return page("view/page.html.jinja", _SCRIPTS, context, is_served=True)


def comparison_data(report: Report) -> dict[str, object]:
    """Return the only one of `cases` in a report for the script, the `tokens` it refers to, and a `summary`."""
    return {**cases_data([(report, {})]), "summary": _summarize(report)}


def _summarize(report: Report) -> str:
    """Sum up the comparison in a line that has passed `visible`."""
    (result,) = report.results
    if result.status is Status.MATCH:
        sentence = f"Equal: {plural(len(result.actual), 'token')} on both sides"
        return f"{sentence}, which decode differently" if result.decode_difference else sentence
    if result.difference is None:
        return headline(result)
    places = sum(not block.equal for block in result.difference.blocks)
    return (
        f"Different in {plural(places, 'place')}: {plural(len(result.actual), 'token')} in actual,"
        f" {len(result.expected):,} in expected"
    )
