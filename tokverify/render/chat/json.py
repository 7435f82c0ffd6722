"""The `json` format of tried chat templates: all of it, in a fixed order (docs/chat.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.render.json import difference_object, header, side_object, write
from tokverify.render.severity import NOUNS

if TYPE_CHECKING:
    from tokverify.chat.conversation import Conversation
    from tokverify.chat.rendering import Rendering
    from tokverify.report.chat import ChatFinding, ChatReport, Rendered


def render(report: ChatReport) -> str:
    """Write what was found as JSON; equal reports give equal text."""
    return write(
        {
            **header("chat"),
            "versions": dict(sorted(report.versions.items())),
            "options": dict(report.options),
            "actual": side_object(report.actual),
            "expected": side_object(report.expected) if report.expected else None,
            "summary": {
                "exit_code": report.exit_code,
                **{severity.name.lower(): report.count(severity) for severity in NOUNS},
            },
            "findings": list(map(_finding, report.findings)),
            "not_checked": list(report.not_checked),
            "templates": [
                {"name": template.name, "actual": template.actual, "expected": template.expected}
                for template in report.templates
            ],
            "conversations": list(map(_conversation, report.conversations)),
            "results": list(map(_result, report.results)),
        }
    )


def _finding(finding: ChatFinding) -> dict[str, object]:
    return {
        "severity": finding.severity.name,
        "kind": finding.kind,
        "template": finding.template,
        "message": finding.message,
        "conversations": list(finding.conversations),
    }


def _conversation(conversation: Conversation) -> dict[str, object]:
    return {
        "id": conversation.id,
        "file": conversation.file,
        "line": conversation.line,
        "note": conversation.note,
        "needs": conversation.needs,
        "messages": list(conversation.messages),
        "tools": None if conversation.tools is None else list(conversation.tools),
        "add_generation_prompt": conversation.add_generation_prompt,
        "variables": dict(conversation.variables),
    }


def _result(result: Rendered) -> dict[str, object]:
    return {
        "template": result.template,
        "conversation": result.conversation.id,
        "actual": _side(result.actual, result.actual_ids, result.actual_refusal),
        "expected": _side(result.expected, result.expected_ids, result.expected_refusal),
        "difference": difference_object(result.difference) if result.difference else None,
    }


def _side(rendering: Rendering | None, ids: tuple[int, ...] | None, refusal: str) -> dict[str, object]:
    return {
        "rendering": None
        if rendering is None
        else {"text": rendering.text, "error": rendering.error, "deliberate": rendering.deliberate},
        "ids": None if ids is None else list(ids),
        "refusal": refusal,
    }
