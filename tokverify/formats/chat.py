"""The output formats of `tokverify chat`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.audit.finding import Severity
from tokverify.formats.presentation import Presentation, bound
from tokverify.formats.verdict import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.chat.rendering import Rendering
    from tokverify.chat.report import ChatReport, Rendered
    from tokverify.formats import RenderOptions

_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "hint"}


def verdict(report: ChatReport) -> str:
    """Sum up, such as `1 template, 14 conversations: 1 error, 2 hints`."""
    counts = [plural(report.count(severity), noun) for severity, noun in _NOUNS.items() if report.count(severity)]
    conversations = len({result.conversation.id for result in report.results})
    tried = f"{plural(len(report.templates), 'template')}, {plural(conversations, 'conversation')}"
    return f"{tried}: {', '.join(counts) or 'nothing found'}"


def _table(report: ChatReport, options: RenderOptions) -> str:
    from tokverify.formats.chat_table import render

    return render(report, options)


def _json(report: ChatReport, options: RenderOptions) -> str:  # noqa: ARG001 - the signature of every format
    from tokverify.formats.json import header, write

    document = {
        **header("chat"),
        "versions": dict(sorted(report.versions.items())),
        "model": report.actual.source,
        "fingerprint": report.actual.fingerprint,
        "reference": report.expected.source if report.expected else None,
        "summary": {
            "exit_code": report.exit_code,
            "templates": list(report.templates),
            **{severity.name.lower(): report.count(severity) for severity in _NOUNS},
        },
        "findings": [
            {
                "severity": finding.severity.name,
                "kind": finding.kind,
                "template": finding.template,
                "message": finding.message,
                "conversations": list(finding.conversations),
            }
            for finding in report.findings
        ],
        "not_checked": list(report.not_checked),
        "results": [_result(result) for result in report.results],
    }
    return write(document)


def _result(result: Rendered) -> dict[str, object]:
    return {
        "template": result.template,
        "conversation": result.conversation.id,
        "file": result.conversation.file,
        "line": result.conversation.line,
        "actual": _rendering(result.actual, result.actual_ids),
        "expected": _rendering(result.expected, result.expected_ids) if result.expected else None,
    }


def _rendering(rendering: Rendering, ids: tuple[int, ...] | None) -> dict[str, object]:
    return {"text": rendering.text, "error": rendering.error or None, "ids": None if ids is None else list(ids)}


CHAT_FORMATS: Mapping[str, Callable[[ChatReport, RenderOptions], str]] = {"table": _table, "json": _json}


def present(report: ChatReport) -> Presentation:
    """Return how what was found is written."""
    return Presentation(bound(CHAT_FORMATS, report), verdict(report), report.exit_code)
