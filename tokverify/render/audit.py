"""Describe an audit, for people, as issues for CI systems, and in one line; and show the manual of a rule."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tokverify.render.document import (
    NOUNS,
    SEVERITY_STYLES,
    Block,
    Column,
    CommandLine,
    Details,
    Document,
    Fields,
    Line,
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
from tokverify.render.issue import LEVELS, Check, CiReport, Issue
from tokverify.render.options import RenderOptions
from tokverify.report.audit import AuditReport, RuleManual, WaivedFinding, audit_exit_code, count_severity, fails_audit
from tokverify.report.diagnosis import Repair, command_line
from tokverify.report.finding import Finding, Severity
from tokverify.report.known_difference import KnownDifference
from tokverify.text.sequence import group_values
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_ranges, plural

_OUTCOMES = {0: "Passed", 1: "Failed"}
_MAX_RANGES = 12
_WIDTH = 120
_INTRODUCTION = """\
# The static rules

Generated from the docstrings of the rules by `tokverify run --explain all > docs/rules.md`; edit those instead.

Rules from TV100 on need only the GGUF file; rules from TV200 on also need its reference. The severity is the highest
that a rule reports. An error means that some texts are encoded incorrectly or that the file cannot be loaded; a warning
means that this may happen; INFO is for your information. In command lines, MODEL is the file and FIXED the name of the
repaired copy.

A [baseline](baseline.md) accepts findings that are known, by their codes.

| code | name | severity | |
|---|---|---|---|
"""
WITHOUT_REFERENCE = "nothing was compared with a reference"
"""What a verdict adds if rules were applied without a reference."""


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
    for finding in _repair_once(report.findings):
        yield Section([*_describe_finding(finding, verbose=verbose), _explain(finding, report)], _title(finding))
    if report.waived:
        yield Section([_describe_waived(waived, report, verbose=verbose) for waived in report.waived], "Accepted")
    if report.unused_waivers:
        yield unused_entries(report.unused_waivers, "rule")
    if report.not_evaluated:
        yield Section([_list_not_evaluated(report, verbose=verbose)], "Not evaluated")


def _repair_once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings, each with its repair unless an earlier one has the same."""
    shown: dict[Repair, Finding] = {}
    for finding in findings:
        shown_by = shown.setdefault(finding.remedy, finding)
        is_repeated = shown_by is not finding and finding.remedy.commands
        yield replace(finding, remedy=Repair(remark=f"that of {shown_by.code}, above")) if is_repeated else finding


def _describe_sides(report: AuditReport) -> Iterator[Line]:
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
    yield from (Paragraph(message(refusal, Style.NOTICE)) for refusal in finding.refusals)
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
    reason = message(acceptance(waived.waiver))
    blocks = [Paragraph(["accepted: ", reason]), *_describe_finding(waived.finding, verbose=verbose)]
    blocks.append(_explain(waived.finding, report))
    return Details(_title(waived.finding), blocks)


def _list_not_evaluated(report: AuditReport, *, verbose: bool) -> Block:
    by_reason = group_values(
        (rule.reason, f"{rule.code} {rule.name}" if verbose else rule.code) for rule in report.not_evaluated
    )
    rows = [(message(", ".join(codes)), message(reason)) for reason, codes in by_reason.items()]
    return Table([Column("rules"), Column("reason")], rows)


def to_ci_report(report: AuditReport) -> CiReport:
    """Return what CI systems show of an audit."""
    return CiReport(
        issues=list_issues(report),
        checks=_list_checks(report),
        skipped=[f"{rule.code} {rule.name} was not evaluated: {rule.reason}" for rule in report.not_evaluated],
        properties={
            "model": report.source,
            "fingerprint": report.fingerprint or "",
            "reference": report.reference or "",
            "caveat": report.caveat,
        },
        evaluated={rule.code for rule in report.rules} - {rule.code for rule in report.not_evaluated},
    )


def list_issues(report: AuditReport) -> Iterator[Issue]:
    """Yield the findings of an audit, then those that are accepted."""
    yield from (_to_issue(finding, report) for finding in report.findings)
    for waived in report.waived:
        yield _to_issue(waived.finding, report, acceptance(waived.waiver))


def _list_checks(report: AuditReport) -> list[Check]:
    """Return the rules that an audit selected, with their manuals; and a stand-in for those of other findings."""
    found = [*report.findings, *(waived.finding for waived in report.waived)]
    checks = {
        finding.code: Check(finding.code, finding.name, "The report has no manual for it.", LEVELS[finding.severity])
        for finding in found
    }
    checks |= {
        rule.code: Check(rule.code, rule.name, _first_line(rule), LEVELS[rule.severity], write_rule(rule))
        for rule in report.rules
    }
    return sorted(checks.values(), key=lambda check: check.id)


def _to_issue(finding: Finding, report: AuditReport, accepted: str | None = None) -> Issue:
    lines = [finding.message, *finding.refusals, *_list_repair(finding.remedy), accepted and f"accepted: {accepted}"]
    return Issue(
        check=finding.code,
        level=LEVELS[finding.severity],
        title=f"{finding.code} {finding.name}",
        message="\n".join(visible_message(line) for line in lines if line),
        path=report.source,
        key=f"{report.source}\0{finding.message}",
        accepted=None if accepted is None else visible_message(accepted),
    )


def _list_repair(remedy: Repair) -> Iterator[str]:
    """Yield the lines of a repair; each command has a line of its own."""
    lead = "repair: "
    for line in [*map(command_line, remedy.commands), remedy.remark]:
        if line:
            yield f"{lead}{line}"
            lead = ""


def write_rule(rule: RuleManual) -> str:
    """Write the manual of one rule."""
    text = f"## {rule.code} {rule.name} ({rule.severity.name})\n\n{rule.summary}\n"
    for section in rule.sections:
        paragraph = f"**{section.heading}.** {section.text}"
        text += f"\n{textwrap.fill(paragraph, _WIDTH, break_long_words=False, break_on_hyphens=False)}\n"
    return text


def write_manual(rules: Sequence[RuleManual]) -> str:
    """Write the manual of all rules, with a table of contents."""
    rows = "".join(
        f"| [{rule.code}](#{rule.code.lower()}-{rule.name}-{rule.severity.name.lower()}) | {rule.name} "
        f"| {rule.severity.name} | {_first_line(rule)} |\n"
        for rule in rules
    )
    return _INTRODUCTION + rows + "".join(f"\n{write_rule(rule)}" for rule in rules)


def _first_line(rule: RuleManual) -> str:
    """Return the first line of a rule's summary."""
    return rule.summary.partition("\n")[0]


def verdict(report: AuditReport) -> str:
    """Sum up an audit, such as `31 rules: 1 error, 2 informational findings; 4 rules not evaluated`."""
    counts = {noun: count_severity(report, severity) for severity, noun in NOUNS.items()}
    found = ", ".join(plural(count, noun) for noun, count in counts.items() if count)
    parts = [f"{plural(len(report.rules), 'rule')}: {found or 'no findings'}"]
    if report.waived:
        parts.append(f"{len(report.waived):,} accepted")
    if report.unused_waivers:
        parts.append(plural(len(report.unused_waivers), "unused entry", "unused entries"))
    if report.not_evaluated:
        parts.append(f"{plural(len(report.not_evaluated), 'rule')} not evaluated")
    if report.reference is None:
        parts.append(WITHOUT_REFERENCE)
    return "; ".join(parts)


def acceptance(entry: KnownDifference) -> str:
    """Return why something is accepted, and where."""
    return f"{entry.reason} ({entry.place})"


def unused_entries(entries: Sequence[KnownDifference], what: str) -> Section:
    """List the entries that accept nothing; `what` is the heading of their codes."""
    rows = [(message(each.code), code(each.place), message(each.reason)) for each in entries]
    table = Table([Column(what), Column("entry"), Column("reason")], rows)
    return Section([table], "Entries of the baseline that accept nothing", Style.WARNING)
