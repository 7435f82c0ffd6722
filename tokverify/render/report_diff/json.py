"""What changed from one report to the next, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.render.json import write
from tokverify.verify.report_diff import Kind

if TYPE_CHECKING:
    from tokverify.report.run import CaseResult, Side
    from tokverify.verify.report_diff import ReportDiff

SCHEMA_VERSION = 2


def render(diff: ReportDiff) -> str:
    """Write what changed as JSON; equal reports give equal text."""
    return write(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": "report diff",
            "summary": {
                "exit_code": diff.exit_code,
                "cases": {"old": len(diff.old.results), "new": len(diff.new.results)},
                **{kind.name.lower(): len(diff.of(kind)) for kind in Kind},
            },
            "actual": {"old": _side(diff.old.actual), "new": _side(diff.new.actual)},
            "expected": {"old": _side(diff.old.expected), "new": _side(diff.new.expected)},
            "changes": [
                {
                    "case": change.name,
                    "kind": change.kind.name.lower(),
                    "edited": change.edited,
                    "old": _outcome(change.old),
                    "new": _outcome(change.new),
                }
                for change in diff.changes
            ],
        }
    )


def _side(side: Side) -> dict[str, object]:
    return {"name": side.name, "source": side.source, "sha256": side.sha256, "fingerprint": side.fingerprint}


def _outcome(result: CaseResult | None) -> dict[str, object] | None:
    if result is None:
        return None
    return {
        "status": str(result.status),
        "message": result.message,
        "ids": {"actual": list(result.actual), "expected": list(result.expected)},
    }
