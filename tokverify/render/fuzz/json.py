"""A fuzzing run as JSON: that of `run`, with what was tried and how often each cause showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.fuzz.trial import Kind
from tokverify.render.json import bytes_object, header, write
from tokverify.render.run.json import document as run_document

if TYPE_CHECKING:
    from tokverify.fuzz.cause import Cause
    from tokverify.fuzz.coverage import Share
    from tokverify.report.fuzz import FuzzReport


def render(fuzzed: FuzzReport) -> str:
    """Write a run as JSON; equal runs give equal text."""
    return write(document(fuzzed))


def document(fuzzed: FuzzReport) -> dict[str, object]:
    """Return a run as a JSON object."""
    told = run_document(fuzzed.report) | header("fuzz")
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
