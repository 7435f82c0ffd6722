"""The `markdown` format of an audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.audit import verdict
from tokverify.render.audit.id_range import id_ranges
from tokverify.render.audit.repair import repair
from tokverify.render.markdown_text import cell_code, code, document, mark, prose, table
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render import RenderOptions
    from tokverify.report.audit import AuditReport
    from tokverify.report.diagnosis import Repair
    from tokverify.report.finding import Finding

_MOST_RANGES = 12


def render(report: AuditReport, options: RenderOptions) -> str:
    """Write an audit as Markdown, or as much of it as fits the limit."""
    heading = f"{mark(report.exit_code)} tokverify audit: {prose(report.source)}"
    return document(heading, verdict(report), _sections(report, options), options)


def _sections(report: AuditReport, options: RenderOptions) -> Iterator[str]:
    if report.reference is not None:
        caveat = f", {prose(report.caveat)}" if report.caveat else ""
        yield f"Reference: {code(visible_message(report.reference))}{caveat}\n"
    for finding in report.findings:
        yield _finding(finding, report, verbose=options.verbose)
    if report.waived:
        rows = [(w.finding.code, prose(w.finding.message), prose(w.waiver.reason)) for w in report.waived]
        yield f"### Waived\n\n{table(('rule', 'finding', 'reason'), rows)}"
    if report.unused_waivers:
        rows = [
            (waiver.code, cell_code(visible_message(waiver.place)), prose(waiver.reason))
            for waiver in report.unused_waivers
        ]
        yield f"### Waivers that accept nothing any more\n\n{table(('rule', 'waiver', 'reason'), rows)}"
    if report.not_evaluated:
        rows = [(rule.code, prose(rule.name), prose(rule.reason)) for rule in report.not_evaluated]
        yield f"### Not evaluated\n\n{table(('rule', '', 'why'), rows)}"


def _finding(finding: Finding, report: AuditReport, *, verbose: bool) -> str:
    told = [f"### {finding.severity.name} {finding.code} {prose(finding.name)}\n", f"{prose(finding.message)}\n"]
    if finding.ids:
        told.append(f"ids {id_ranges(finding.ids, None if verbose else _MOST_RANGES)}\n")
    if finding.keys:
        told.append(f"keys {', '.join(code(visible_message(key)) for key in finding.keys)}\n")
    if finding.repair:
        told.append(_repair(repair(finding, report)))
    return "\n".join(told)


def _repair(told: Repair) -> str:
    commands = [code(visible_message(str(command))) for command in told.commands]
    return f"repair: {'; '.join([*commands, *([prose(told.remark)] if told.remark else [])])}\n"
