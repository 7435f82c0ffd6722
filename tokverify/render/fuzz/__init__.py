"""The output formats of `tokverify fuzz`: those of `run`, with what was tried and how often each cause showed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tokverify.fuzz.trial import Kind
from tokverify.render.presentation import CI_FORMATS, Presentation, bind_formats, renderers
from tokverify.report.fuzz import Stop
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.fuzz.coverage import Share
    from tokverify.render import RenderOptions
    from tokverify.report.fuzz import FuzzReport

_STOPS = {
    Stop.COUNT: "all that were asked for",
    Stop.TIME: "until the time was up",
    Stop.COVERAGE: "until the coverage was reached",
    Stop.INTERRUPTED: "until interrupted",
}


def verdict(fuzzed: FuzzReport) -> str:
    """Sum up a run, such as `3,000 strings: 310 fail, from 2 causes`."""
    causes = [cause for cause in fuzzed.causes if cause.outcome.kind is not Kind.SKIPPED]
    found = "nothing found"
    if fuzzed.failing:
        verb = "fails" if fuzzed.failing == 1 else "fail"
        found = f"{fuzzed.failing:,} {verb}"
        if causes:
            found += f", from {plural(len(causes), 'cause')}"
    parts = [f"{plural(fuzzed.strings, 'string')}: {found}"]
    if fuzzed.unlisted:
        parts.append(f"the cause of {plural(fuzzed.unlisted, 'string')} is not listed")
    if fuzzed.skipped:
        parts.append(f"{fuzzed.skipped:,} skipped")
    if fuzzed.report.vocabulary:
        parts.append("the vocabularies differ")
    if not fuzzed.compared:
        parts.append("nothing was compared")
    if fuzzed.stop is Stop.INTERRUPTED:
        parts.append("interrupted")
    return "; ".join(parts)


def tried(fuzzed: FuzzReport) -> str:
    """Say how much was tried, such as `3,000 strings, until the time was up`."""
    return f"{plural(fuzzed.strings, 'string')}, {_STOPS[fuzzed.stop]}"


def shares(fuzzed: FuzzReport) -> Iterator[str]:
    """Yield the coverage, such as `64.6% of 2,000 pieces`."""
    yield f"{percent(fuzzed.pieces)} of {plural(fuzzed.pieces.total, 'piece')}"
    if fuzzed.merges:
        yield f"{percent(fuzzed.merges)} of {plural(fuzzed.merges.total, 'merge')}"


def percent(share: Share) -> str:
    """Write a share in percent, rounded down: only everything is 100%."""
    return f"{int(share.ratio * 1000) / 10:.1f}%"


FUZZ_FORMATS: Mapping[str, Callable[[FuzzReport, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.render.fuzz.table:render",
        "json": "tokverify.render.fuzz.json:render",
        "markdown": "tokverify.render.fuzz.markdown:render",
        "html": "tokverify.render.fuzz.html:render",
        "junit": "tokverify.render.fuzz.junit:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.render.fuzz.issue:to_ci_report"),
    }
)
"""Name -> how a run is written."""


def present(fuzzed: FuzzReport) -> Presentation:
    """Return how a run is written."""
    return Presentation(bind_formats(FUZZ_FORMATS, fuzzed), verdict(fuzzed), fuzzed.exit_code)
