"""The HTML page of a checked log: the causes with their shares, and the examples."""

from __future__ import annotations

from tokverify.render.canonical.verdict import verdict
from tokverify.render.fuzz.html import length
from tokverify.render.run.html import case_list, case_page, comparison, outcome
from tokverify.report.canonical import DEVIATIONS, CanonicalReport, canonical_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import percentage, plural

_OUTCOMES = {
    0: ("Canonical", "all sequences are the encoding of their own text"),
    1: ("Deviating", "a sequence is not the encoding of its own text"),
    2: ("Nothing compared", "the log contains no ids"),
}


def render(checked: CanonicalReport) -> str:
    """Render a checked log as one page."""
    causes = {
        result.case.name: [str(count.cause) for count in checked.causes if result.case.id in count.cases]
        for result in checked.report.results
    }
    log = visible_message(checked.report.expected.source)
    context = {
        **outcome(log, verdict(checked), canonical_exit_code(checked), _OUTCOMES),
        **comparison(checked.report),
        **case_list((checked.report, causes)),
        "counted": f"{plural(checked.sequences, 'sequence')}, {plural(checked.tokens, 'token')}",
        "deviations": [
            {
                "name": str(count.cause),
                "meaning": DEVIATIONS[count.cause],
                "sequences": f"{count.sequences:,}",
                "share": percentage(count.sequences, checked.sequences),
                "length": length(count.sequences, checked.deviating),
            }
            for count in checked.causes
        ],
    }
    return case_page("canonical/page.html.jinja", context)
