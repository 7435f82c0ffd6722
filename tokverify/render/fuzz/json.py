"""A fuzzing run as JSON: that of `run`, with what was tried and how often each cause showed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokverify.render.json import bytes_object, header, write
from tokverify.render.run.json import document as run_document
from tokverify.report.fuzz import fuzz_exit_code

if TYPE_CHECKING:
    from tokverify.report.fuzz import FuzzCause, FuzzReport, Share


def render(fuzzed: FuzzReport) -> str:
    """Write a run as JSON; equal runs give equal text."""
    return write(document(fuzzed))


def document(fuzzed: FuzzReport) -> dict[str, object]:
    """Return a run as a JSON object."""
    told = run_document(fuzzed.report) | header("fuzz")
    told["summary"] = {
        "exit_code": fuzz_exit_code(fuzzed),
        "strings": fuzzed.strings,
        "failing": fuzzed.failing,
        "skipped": fuzzed.skipped,
        "unlisted": fuzzed.unlisted,
        "causes": len(fuzzed.causes),
        "stop": str(fuzzed.stop),
    }
    told["notes"] = list(fuzzed.notes)
    told["coverage"] = {
        "pieces": _share(fuzzed.coverage.pieces),
        "merges": fuzzed.coverage.merges and _share(fuzzed.coverage.merges),
    }
    told["generators"] = {
        name: {"strings": tally.strings, "failing": tally.failing} for name, tally in fuzzed.generators.items()
    }
    told["causes"] = list(map(_cause, fuzzed.causes))
    return told


def _share(share: Share) -> dict[str, int]:
    return {"done": share.done, "total": share.total}


def _cause(cause: FuzzCause) -> dict[str, object]:
    told: dict[str, object] = {
        "case": cause.case,
        "kind": str(cause.kind),
        "strings": cause.strings,
        "generator": cause.generator,
        "found": asdict(cause.found),
    }
    if cause.decoded:
        told["decoded"] = {role: bytes_object(data) for role, data in asdict(cause.decoded).items()}
    return told
