"""What changed as JSON, with the runs that were made of both versions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from tokverify.render.fuzz.json import document as fuzz_document
from tokverify.render.json import header, write
from tokverify.render.run.json import document

if TYPE_CHECKING:
    from tokverify.report.diff import ChangeReport


def render(report: ChangeReport) -> str:
    """Write what changed as JSON; equal reports give equal text."""
    return write(
        {
            **header("diff"),
            "versions": dict(sorted(report.versions.items())),
            "options": dict(report.options),
            "old": report.old.source,
            "new": report.new.source,
            "file": report.file,
            "summary": {"exit_code": report.exit_code, "behaves_alike": report.behaves_alike},
            "behavior_only": report.behavior_only,
            "not_compared": list(report.not_compared),
            "parts": [
                {"name": part.name, "counts": part.counts, "changes": [change._asdict() for change in part.changes]}
                for part in report.parts
            ],
            "effect": asdict(report.effect) if report.effect else None,
            "run": document(report.report),
            "fuzz": fuzz_document(report.fuzzed) if report.fuzzed else None,
        }
    )
