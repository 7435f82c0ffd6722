"""The HTML page of a fuzzing run: what was tried, and each cause with its frequency and its minimal text."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.case_text import shortened
from tokverify.render.fuzz.verdict import describe_tried, percent, verdict
from tokverify.render.run.cause import causes
from tokverify.render.run.html import case_list, case_page, comparison, outcome
from tokverify.report.fuzz import FuzzCause, FuzzReport, fuzz_exit_code
from tokverify.report.run import CaseResult
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

_OUTCOMES = {
    0: ("Nothing found", "no text was found on which the two sides differ"),
    1: ("Failed", "the tokenizers differ, or texts were found on which they do"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C ended the run; the results up to that point are below"),
}


def render(fuzzed: FuzzReport) -> str:
    """Render the whole run as one page."""
    context = {
        **outcome(visible_message(fuzzed.report.actual.name), verdict(fuzzed), fuzz_exit_code(fuzzed), _OUTCOMES),
        **comparison(fuzzed.report),
        **case_list((fuzzed.report, causes(fuzzed.report))),
        "fuzz": run_data(fuzzed),
    }
    return case_page("fuzz/page.html.jinja", context)


def run_data(fuzzed: FuzzReport) -> dict[str, object]:
    """Return what was tried and how often each cause occurred; all strings are escaped."""
    results = zip(fuzzed.causes, fuzzed.report.results, strict=True)
    most = max((cause.strings for cause in fuzzed.causes), default=0)
    return {
        "tried": describe_tried(fuzzed),
        "notes": list(map(visible_message, fuzzed.notes)),
        "coverage": list(_coverage(fuzzed)),
        "generators": [
            (visible_message(name), f"{tally.strings:,}", f"{tally.failing:,}", length(tally.failing, tally.strings))
            for name, tally in fuzzed.generators.items()
        ],
        "causes": [_cause(*pair, most) for pair in sorted(results, key=lambda pair: -pair[0].strings)],
        "unlisted": plural(fuzzed.unlisted, "text") if fuzzed.unlisted else "",
    }


def _coverage(fuzzed: FuzzReport) -> Iterator[tuple[str, str, float]]:
    """Yield the name, the share in words, and the length of the bar in percent."""
    for name, share in (("pieces", fuzzed.coverage.pieces), ("merges", fuzzed.coverage.merges)):
        if share and share.total:
            yield name, f"{percent(share)} of {share.total:,}", length(share.done, share.total)


def _cause(cause: FuzzCause, result: CaseResult, most: int) -> dict[str, object]:
    return {
        "name": visible_message(result.case.name),
        "status": str(result.status),
        "texts": f"{cause.strings:,}",
        "length": length(cause.strings, most),
        "text": shortened(result.case.text),
        "generator": visible_message(cause.generator),
    }


def length(part: int, whole: int) -> float:
    """Return the length of a bar in percent."""
    return round(100 * part / whole, 2) if whole else 0.0
