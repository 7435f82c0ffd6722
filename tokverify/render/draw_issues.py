"""Write the issues of a report in the formats `github`, `gitlab` and `sarif`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.text.visible import visible_message

_SHOWN = 10
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}
# subtle: the runner also obeys `##[command]`, its older form, and that anywhere in a line.
_DATA = {"##[": "#\\x23[", "%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
_SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}
_VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def draw_github(report: CiReport) -> str:
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


def draw_gitlab(report: CiReport) -> str:
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


def draw_sarif(report: CiReport) -> str:
    """Write a SARIF log of one run."""
    from tokverify.version import __version__

    indexes = {check.id: index for index, check in enumerate(report.checks)}
    notifications = [{"level": "note", "message": _message(sentence)} for sentence in report.skipped]
    run = {
        "tool": {"driver": {"name": "tokverify", "version": __version__, "rules": list(map(_rule, report.checks))}},
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": report.exit_code,
                "toolConfigurationNotifications": notifications,
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(issue, indexes) for issue in report.issues],
    }
    return json.dumps({"$schema": _SCHEMA, "version": _VERSION, "runs": [run]}, indent=2) + "\n"


def _rule(check: Check) -> dict[str, object]:
    rule: dict[str, object] = {
        "id": check.id,
        "name": check.name,
        "shortDescription": _message(check.summary),
        "defaultConfiguration": {"level": str(check.level)},
    }
    if check.manual:
        rule["help"] = {**_message(check.manual), "markdown": _braces(check.manual)}
    return rule


def _result(issue: Issue, indexes: dict[str, int]) -> dict[str, object]:
    location = {
        "artifactLocation": {"uri": _uri(issue.path)},
        "region": {"startLine": issue.line},
    }
    result: dict[str, object] = {
        "ruleId": issue.check,
        "ruleIndex": indexes[issue.check],
        "level": str(issue.level),
        "message": _message(f"{issue.title}: {issue.message}"),
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"tokverify/v1": issue.fingerprint},
    }
    if issue.accepted is not None:
        result["suppressions"] = [{"kind": "external", "justification": issue.accepted}]
    return result


def _message(text: str) -> dict[str, str]:
    # subtle: `[text](target)` is a link even in plain text, so a text that happens to look like one is escaped.
    return {"text": _braces(text.replace("](", "]\\x28"))}


def _braces(text: str) -> str:
    """Double the braces, which would mark the place of an argument."""
    return text.replace("{", "{{").replace("}", "}}")


def _uri(path: str) -> str:
    # subtle: a file's name may hold bytes that are not UTF-8, as lone surrogates.
    name = quote(path.encode("utf-8", "surrogateescape"))
    return f"file://{name}" if name.startswith("/") else name
