"""The `sarif` format: SARIF 2.1.0, an OASIS standard, which GitHub's code scanning and many editors read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from tokverify.render.ci import CiReport
    from tokverify.render.ci.issue import Check, Issue

_VERSION = "2.1.0"
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: CiReport) -> str:
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
