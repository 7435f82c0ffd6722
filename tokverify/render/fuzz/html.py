"""The page of a fuzzing run: what was tried, the causes with how many strings showed each, and their minimal texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.case_text import shortened
from tokverify.render.fuzz import percent, tried, verdict
from tokverify.render.html.cause import causes
from tokverify.render.run.html import case_list, case_page, comparison, outcome
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.fuzz.cause import Cause
    from tokverify.report.fuzz import FuzzReport

_OUTCOMES = {
    0: ("Nothing found", "no text was found on which the two differ"),
    1: ("Failed", "texts were found on which the two differ"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C ended the run; what was found until then is here"),
}


def render(fuzzed: FuzzReport) -> str:
    """Write a page that holds the whole run."""
    context = {
        **outcome(visible_message(fuzzed.report.actual.name), verdict(fuzzed), fuzzed.exit_code, _OUTCOMES),
        **comparison(fuzzed.report),
        **case_list((fuzzed.report, causes(fuzzed.report))),
        "fuzz": run_data(fuzzed),
    }
    return case_page("fuzz.html.jinja", context)


def run_data(fuzzed: FuzzReport) -> dict[str, object]:
    """Return what was tried, and what showed how often; all of its strings are `visible`."""
    most = max((cause.strings for cause in fuzzed.causes), default=0)
    return {
        "tried": tried(fuzzed),
        "notes": list(map(visible_message, fuzzed.notes)),
        "coverage": list(_coverage(fuzzed)),
        "generators": [
            (visible_message(name), f"{strings:,}", f"{failing:,}", length(failing, strings))
            for name, (strings, failing) in fuzzed.by_generator.items()
        ],
        "causes": [_cause(cause, most) for cause in sorted(fuzzed.causes, key=lambda cause: -cause.strings)],
        "unlisted": plural(fuzzed.unlisted, "string") if fuzzed.unlisted else "",
    }


def _coverage(fuzzed: FuzzReport) -> Iterator[tuple[str, str, float]]:
    """Yield of what, how much of it, and the length of a bar in percent."""
    for name, share in (("pieces", fuzzed.pieces), ("merges", fuzzed.merges)):
        if share:
            yield name, f"{percent(share)} of {share.total:,}", length(share.done, share.total)


def _cause(cause: Cause, most: int) -> dict[str, object]:
    return {
        "name": visible_message(cause.result.name),
        "status": str(cause.result.status),
        "strings": f"{cause.strings:,}",
        "length": length(cause.strings, most),
        "text": shortened(cause.result.case.text),
        "generator": visible_message(cause.generator),
    }


def length(part: int, whole: int) -> float:
    """Return how long a bar is, in percent."""
    return round(100 * part / whole, 2) if whole else 0.0
