"""The `github` format: workflow commands that GitHub Actions turns into annotations, and its job summary.

In the format, `%`, CR and LF are written as `%25`, `%0D` and `%0A`, in properties also `:` and `,`; see "Workflow
commands for GitHub Actions" in GitHub's documentation, and `ActionCommand` in the runner's source.
"""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.render.ci import CiReport
from tokverify.render.ci.issue import Issue, Level
from tokverify.text.visible import visible_message

_SHOWN = 10
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
# subtle: the runner also obeys `##[command]`, its older form, and that anywhere in a line.
_DATA = {"##[": "#\\x23[", "%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def render(report: CiReport) -> str:
    """Write an annotation for each issue, and one for all that are accepted.

    If GitHub would not show all errors, the verdict comes first, followed by the issues that belong to a line.
    """
    issues = sorted(report.issues, key=lambda issue: not issue.path)
    lines = [_annotation(issue) for issue in issues if issue.accepted is None]
    if sum(issue.level is Level.ERROR for issue in issues) > _SHOWN:
        verdict = f"{report.verdict}. GitHub shows only {_SHOWN} annotations per step; all of them are in the log"
        lines.insert(0, f"::error title=tokverify::{_escape(visible_message(verdict), _DATA)}")
    accepted = [f"{issue.title} ({issue.accepted})" for issue in issues if issue.accepted is not None]
    if accepted:
        message = _escape("\n".join(accepted), _DATA)
        lines.append(f"::notice title=tokverify%3A {len(accepted)} accepted::{message}")
    return "".join(f"{line}\n" for line in lines)


def _annotation(issue: Issue) -> str:
    place = {"file": visible_message(issue.path), "line": str(issue.line)} if issue.path else {}
    properties = {**place, "title": issue.title}
    listed = ",".join(f"{name}={_escape(value, _PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[issue.level]} {listed}::{_escape(issue.message, _DATA)}"


def _escape(text: str, escapes: Mapping[str, str]) -> str:
    for character, replacement in escapes.items():
        text = text.replace(character, replacement)
    return text
