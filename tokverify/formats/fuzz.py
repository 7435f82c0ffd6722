"""The output formats of `tokverify fuzz`: those of `run`, with what was tried and how often each cause showed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokverify.formats.ci import Told, ci_formats
from tokverify.formats.presentation import Presentation, bound
from tokverify.fuzzing.report import Stop
from tokverify.fuzzing.trial import Kind
from tokverify.visible import visible_message
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tokverify.formats import RenderOptions
    from tokverify.fuzzing.cause import Cause
    from tokverify.fuzzing.coverage import Share
    from tokverify.fuzzing.report import FuzzReport

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
        found = f"{fuzzed.failing:,} {verb}, from {plural(len(causes), 'cause')}"
    parts = [f"{plural(fuzzed.strings, 'string')}: {found}"]
    if fuzzed.unlisted:
        parts.append(f"{fuzzed.unlisted:,} not listed by cause")
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


def _table(fuzzed: FuzzReport, options: RenderOptions) -> str:
    from tokverify.formats.fuzz_table import render

    return render(fuzzed, options)


def _json(fuzzed: FuzzReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.json import write

    return write(document(fuzzed))


def document(fuzzed: FuzzReport) -> dict[str, object]:
    """Return a run as a JSON object."""
    from tokverify.formats import json

    told = json.document(fuzzed.report) | json.header("fuzz")
    told["summary"] = {
        "exit_code": fuzzed.exit_code,
        "strings": fuzzed.strings,
        "failing": fuzzed.failing,
        "skipped": fuzzed.skipped,
        "unlisted": fuzzed.unlisted,
        "causes": len(fuzzed.causes),
        "stop": str(fuzzed.stop),
    }
    told["notes"] = list(fuzzed.notes)
    told["coverage"] = {"pieces": _share(fuzzed.pieces), "merges": fuzzed.merges and _share(fuzzed.merges)}
    told["generators"] = {
        name: {"strings": strings, "failing": failing} for name, (strings, failing) in fuzzed.by_generator.items()
    }
    told["causes"] = list(map(_cause, fuzzed.causes))
    return told


def _share(share: Share) -> dict[str, int]:
    return {"done": share.done, "total": share.total}


def _cause(cause: Cause) -> dict[str, object]:
    from tokverify.formats.json import bytes_object

    told: dict[str, object] = {
        "case": cause.result.case.id,
        "kind": str(cause.outcome.kind),
        "strings": cause.strings,
        "generator": cause.generator,
        "found": cause.found._asdict(),
    }
    if cause.outcome.kind is Kind.DECODING and not cause.outcome.message:
        sides = {"actual": cause.outcome.actual, "expected": cause.outcome.expected}
        told["decoded"] = {role: bytes_object(bytes(data)) for role, data in sides.items()}
    return told


def _markdown(fuzzed: FuzzReport, options: RenderOptions) -> str:
    from tokverify.formats.fuzz_markdown import render

    return render(fuzzed, options)


def _html(fuzzed: FuzzReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.html.fuzz import render

    return render(fuzzed)


def _junit(fuzzed: FuzzReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.fuzz_junit import render

    return render(fuzzed)


def _told(fuzzed: FuzzReport) -> Told:
    from tokverify.formats.fuzz_issue import FUZZ_CHECKS, fuzz_issues

    return Told(
        issues=fuzz_issues(fuzzed),
        checks=FUZZ_CHECKS,
        verdict=verdict(fuzzed),
        exit_code=fuzzed.exit_code,
        skipped=map(visible_message, fuzzed.notes),
    )


def job_summary(fuzzed: FuzzReport, limit: int) -> str:
    """Write what GitHub shows of a step, in at most `limit` bytes."""
    from tokverify.formats import RenderOptions
    from tokverify.formats.fuzz_markdown import render

    return render(fuzzed, RenderOptions(), limit)


FUZZ_FORMATS: Mapping[str, Callable[[FuzzReport, RenderOptions], str]] = {
    "table": _table,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
    "junit": _junit,
    **ci_formats(_told),
}
"""Name -> how a run is written."""


def present(fuzzed: FuzzReport) -> Presentation:
    """Return how a run is written."""
    return Presentation(bound(FUZZ_FORMATS, fuzzed), verdict(fuzzed), fuzzed.exit_code, partial(job_summary, fuzzed))
