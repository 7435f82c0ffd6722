"""The `table` format of an audit, for a person."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.audit import verdict
from tokverify.render.audit.id_range import id_ranges
from tokverify.render.audit.repair import repair
from tokverify.render.layout import DIM, LABEL, draw, labeled, words
from tokverify.render.pasteable import Pasteable
from tokverify.render.severity import STYLES

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.render import RenderOptions
    from tokverify.report.audit import AuditReport
    from tokverify.report.diagnosis import Repair
    from tokverify.report.finding import Finding

_INDENT = 2
_MOST_RANGES = 12
_REPAIR = "repair"


def render(report: AuditReport, options: RenderOptions) -> str:
    """Write an audit finding by finding; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(report, verbose=options.verbose))
    style = "bold red" if report.exit_code else "bold green"
    return draw([*sections, words(verdict(report), style)], options)


def _sections(report: AuditReport, *, verbose: bool) -> Iterator[RenderableType]:
    yield labeled(_heading(report))
    for finding in report.findings:
        yield _finding(finding, report, verbose=verbose)
    for waived in report.waived:
        told = f"{waived.waiver.reason} ({waived.waiver.place})"
        yield _finding(waived.finding, report, verbose=verbose, waived=told)
    if report.unused_waivers:
        lines = [(waiver.code, words(f"{waiver.place}: {waiver.reason}")) for waiver in report.unused_waivers]
        yield Group(
            Text("UNUSED WAIVERS, which accept nothing any more", "bold yellow"), labeled(lines, indent=_INDENT)
        )
    if report.not_evaluated:
        yield _not_evaluated(report)


def _heading(report: AuditReport) -> Iterator[tuple[str, Text]]:
    yield "model", words(report.source, "bold")
    if report.fingerprint:
        yield "", Text(f"fingerprint {report.fingerprint}", DIM)
    if report.reference is not None:
        yield "reference", words(report.reference, "bold")
    if report.reference_sha256:
        yield "", Text(f"sha256 {report.reference_sha256}", DIM)
    if report.caveat:
        yield "", words(f"caveat: {report.caveat}", "yellow")


def _finding(finding: Finding, report: AuditReport, *, verbose: bool, waived: str = "") -> RenderableType:
    title = Text.assemble(
        (f"{finding.severity.name} ", DIM if waived else STYLES[finding.severity]),
        (f"{finding.code} {finding.name}", "bold"),
        (" waived" if waived else "", DIM),
    )
    # As wide as the widest label, which may stand below, and in a table of its own.
    about = ((f"{label:{len(_REPAIR)}}", line) for label, line in _about(finding, verbose, waived))
    return Group(title, labeled(about, indent=_INDENT), *_repair(repair(finding, report)))


def _about(finding: Finding, verbose: bool, waived: str) -> Iterator[tuple[str, Text]]:
    yield "found", words(finding.message)
    if waived:
        yield "waived", words(waived)
    if finding.ids:
        yield "ids", Text(id_ranges(finding.ids, None if verbose else _MOST_RANGES), DIM, overflow="fold")
    if finding.keys:
        yield "keys", words(", ".join(finding.keys), DIM)


def _repair(told: Repair) -> Iterator[RenderableType]:
    label = f"{' ' * _INDENT}{_REPAIR}"
    for command in told.commands:
        yield Pasteable(Text.assemble((label, LABEL), "  "), command)
    if told.remark:
        continued = " " * len(label) if told.commands else label
        yield labeled([(continued, words(told.remark, DIM if told.commands else ""))])


def _not_evaluated(report: AuditReport) -> RenderableType:
    by_reason: dict[str, list[str]] = {}
    for rule in report.not_evaluated:
        by_reason.setdefault(rule.reason, []).append(rule.code)
    lines = [(", ".join(codes[:1]), words(_reason(codes, reason))) for reason, codes in by_reason.items()]
    return Group(Text("NOT EVALUATED", "bold"), labeled(lines, indent=_INDENT))


def _reason(codes: list[str], reason: str) -> str:
    return f"{reason} (also {', '.join(codes[1:])})" if len(codes) > 1 else reason
