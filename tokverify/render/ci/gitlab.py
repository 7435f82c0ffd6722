"""The `gitlab` format: what GitLab's merge requests show as code quality, a JSON list."""

from __future__ import annotations

import json

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Issue, Level
from tokverify.text.visible import visible_message

_SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}


def render(report: CiReport) -> str:
    """Write a code quality report."""
    return json.dumps(list(map(_entry, report.issues)), indent=2) + "\n"


def _entry(issue: Issue) -> dict[str, object]:
    return {
        "description": f"{issue.title}: {issue.message.partition(chr(10))[0]}",
        "check_name": issue.check,
        "fingerprint": issue.fingerprint,
        "severity": "info" if issue.accepted is not None else _SEVERITIES[issue.level],
        "location": {"path": visible_message(issue.path), "lines": {"begin": issue.line}},
    }
