"""The output formats of `tokverify fuzz`: those of `run`, with what was tried and how often each cause showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.formats.presentation import Presentation, bound
from tokverify.formats.verdict import plural
from tokverify.fuzzing.trial import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.formats import RenderOptions
    from tokverify.fuzzing.cause import Cause
    from tokverify.fuzzing.coverage import Share
    from tokverify.fuzzing.report import FuzzReport


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
    if fuzzed.exit_code not in {0, 1}:
        parts.append("nothing was compared")
    return "; ".join(parts)


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


FUZZ_FORMATS: Mapping[str, Callable[[FuzzReport, RenderOptions], str]] = {"table": _table, "json": _json}


def present(fuzzed: FuzzReport) -> Presentation:
    """Return how a run is written."""
    return Presentation(bound(FUZZ_FORMATS, fuzzed), verdict(fuzzed), fuzzed.exit_code)
