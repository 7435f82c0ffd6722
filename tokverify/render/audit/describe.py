"""Describe an audit for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.render.audit.verdict import list_ranges, verdict
from tokverify.render.document import (
    Block,
    Column,
    CommandLine,
    Details,
    Document,
    Fields,
    Inline,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    code,
    message,
    with_code,
)
from tokverify.render.severity import SEVERITY_STYLES
from tokverify.report.audit import AuditReport, WaivedFinding, audit_exit_code, fails_audit
from tokverify.report.finding import Finding, Severity

if TYPE_CHECKING:
    from tokverify.render.options import RenderOptions

_OUTCOMES = {0: "Passed", 1: "Failed"}
_MAX_RANGES = 12


def describe(report: AuditReport, options: RenderOptions) -> Document:
    """Describe an audit, finding by finding."""
    return Document(
        title=["tokverify audit: ", message(report.source)],
        verdict=verdict(report),
        exit_code=audit_exit_code(report),
        sections=_describe_sections(report, verbose=options.verbose),
        outcome=_describe_outcome(report),
        options=report.options,
        versions=report.versions,
    )


def _describe_outcome(report: AuditReport) -> tuple[str, str]:
    exit_code = audit_exit_code(report)
    severities = [severity.name for severity in reversed(Severity) if fails_audit(severity, report)]
    found = "at least one finding" if exit_code else "no finding"
    meaning = f"{found} has severity {' or '.join(severities)}" if severities else "no finding makes the audit fail"
    return _OUTCOMES[exit_code], meaning


def _describe_sections(report: AuditReport, *, verbose: bool) -> Iterator[Section]:
    yield Section([Fields(list(_describe_sides(report)))])
    for finding in report.findings:
        yield Section([*_describe_finding(finding, verbose=verbose), _explain(finding, report)], _title(finding))
    if report.waived:
        yield Section([_describe_waived(waived, report, verbose=verbose) for waived in report.waived], "Waived")
    if report.unused_waivers:
        yield Section([_list_unused(report)], "Waivers that no longer accept anything", Style.WARNING)
    if report.not_evaluated:
        yield Section([_list_not_evaluated(report, verbose=verbose)], "Not evaluated")


def _describe_sides(report: AuditReport) -> Iterator[tuple[str, Inline]]:
    yield "model", message(report.source, Style.STRONG)
    if report.fingerprint:
        yield "", Span(f"fingerprint {report.fingerprint}", Style.DIM)
    if report.reference is not None:
        yield "reference", message(report.reference, Style.STRONG)
    if report.reference_sha256:
        yield "", Span(f"sha256 {report.reference_sha256}", Style.DIM)
    if report.caveat:
        yield "", message(f"caveat: {report.caveat}", Style.CAVEAT)


def _title(finding: Finding) -> list[Span]:
    severity = Span(f"{finding.severity.name} ", SEVERITY_STYLES[finding.severity])
    return [severity, message(f"{finding.code} {finding.name}", Style.STRONG)]


def _describe_finding(finding: Finding, *, verbose: bool) -> Iterator[Block]:
    yield Paragraph(message(finding.message))
    if finding.ids:
        yield Paragraph(Span(f"ids {list_ranges(finding.ids, None if verbose else _MAX_RANGES)}", Style.DIM))
    if finding.keys:
        keys: list[Span] = []
        for key in finding.keys:
            keys += [Span(", " if keys else "keys ", Style.DIM), code(key, Style.DIM)]
        yield Paragraph(keys)
    for command in finding.remedy.commands:
        yield CommandLine(command)
    if finding.remedy.remark:
        has_command = bool(finding.remedy.commands)
        lead, style = ("", Style.DIM) if has_command else ("repair: ", Style.PLAIN)
        yield Paragraph([lead, message(finding.remedy.remark, style)])


def _explain(finding: Finding, report: AuditReport) -> Block:
    """Return the manual of the rule, for a page, which has room for it."""
    rule = next((rule for rule in report.rules if rule.code == finding.code), None)
    if rule is None:
        return Only("html", [])
    manual = [Fields([(section.heading, with_code(section.text)) for section in rule.sections])]
    return Only("html", [Details(["About this rule: ", *with_code(rule.summary)], manual)])


def _describe_waived(waived: WaivedFinding, report: AuditReport, *, verbose: bool) -> Block:
    reason = message(f"{waived.waiver.reason} ({waived.waiver.place})")
    blocks = [Paragraph(["accepted: ", reason]), *_describe_finding(waived.finding, verbose=verbose)]
    blocks.append(_explain(waived.finding, report))
    return Details(_title(waived.finding), blocks)


def _list_unused(report: AuditReport) -> Block:
    rows = [(message(waiver.code), code(waiver.place), message(waiver.reason)) for waiver in report.unused_waivers]
    return Table([Column("rule"), Column("waiver"), Column("reason")], rows)


def _list_not_evaluated(report: AuditReport, *, verbose: bool) -> Block:
    by_reason: dict[str, list[str]] = {}
    for rule in report.not_evaluated:
        by_reason.setdefault(rule.reason, []).append(f"{rule.code} {rule.name}" if verbose else rule.code)
    rows = [(message(", ".join(codes)), message(reason)) for reason, codes in by_reason.items()]
    return Table([Column("rules"), Column("reason")], rows)
