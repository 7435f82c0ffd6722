"""What changed as JSON, with the runs that were made of both versions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokverify.render.fuzz.json import document as fuzz_document
from tokverify.render.json import header, write
from tokverify.render.run.json import document
from tokverify.report.diff import behaves_alike, count_kinds, diff_exit_code, new_side, old_side

if TYPE_CHECKING:
    from tokverify.report.diff import ChangeReport


def render(report: ChangeReport) -> str:
    """Write what changed as JSON; equal reports give equal text."""
    return write(
        {
            **header("diff"),
            "versions": dict(sorted(report.versions.items())),
            "options": dict(report.options),
            "old": old_side(report).source,
            "new": new_side(report).source,
            "file": report.file,
            "summary": {"exit_code": diff_exit_code(report), "behaves_alike": behaves_alike(report)},
            "behavior_only": report.behavior_only,
            "not_compared": list(report.not_compared),
            "parts": [
                {"name": part.name, "counts": count_kinds(part), "changes": [asdict(change) for change in part.changes]}
                for part in report.parts
            ],
            "effect": asdict(report.effect) if report.effect else None,
            "run": document(report.report),
            "fuzz": fuzz_document(report.fuzzed) if report.fuzzed else None,
        }
    )
