"""Describe what was checked, one part after another: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar
from xml.etree.ElementTree import Element

from tokverify.render import audit, chat
from tokverify.render.audit import WITHOUT_REFERENCE
from tokverify.render.document import (
    VERDICT_STYLES,
    Column,
    Document,
    Fields,
    Heading,
    Inline,
    Item,
    Items,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    code,
    message,
    plain,
)
from tokverify.render.draw_issues import not_passed, passed, suite
from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.render.options import RenderOptions
from tokverify.render.run.describe import describe as describe_run
from tokverify.render.run.issue import suites_of as run_suites
from tokverify.render.run.issue import to_ci_report as run_issues
from tokverify.render.run.verdict import answer, reservations
from tokverify.render.run.verdict import verdict as run_verdict
from tokverify.report.audit import AuditReport, fails_audit
from tokverify.report.chat import ChatFinding, ChatReport, finding_fails
from tokverify.report.check import CheckReport, ModelCheck, Part, check_exit_code, model_exit_code, part_exit_code
from tokverify.report.diagnosis import Command, command_line
from tokverify.report.finding import Finding, Severity
from tokverify.report.run import Report
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_items, plural, verb

_OUTCOMES = {
    0: ("Passed", "nothing that was checked fails"),
    1: ("Failed", "a part of the check fails"),
    2: ("Not checked", "a part of the check could not be performed"),
}
_FOLDED = "parts that pass without a warning, and what is only for information, are shown with -v"
_CANNOT_RUN = Check("check-error", "error", "A part of a check could not be performed.", Level.ERROR)
_TAGS = {1: "failure", 2: "error"}
_WORDS = {0: "passes", 1: "fails", 2: "could not be checked"}
_NAMED = 3
NOTHING = "nothing to check"

_Finding = TypeVar("_Finding", Finding, ChatFinding)


class _OfPart(NamedTuple):
    """What shows the reports of a part."""

    describe: Callable[[Any, RenderOptions], Document]
    to_ci_report: Callable[[Any], CiReport]
    verdict: Callable[[Any], str]


_PARTS: Mapping[Part, _OfPart] = {
    Part.RUN: _OfPart(describe_run, run_issues, run_verdict),
    Part.AUDIT: _OfPart(audit.describe, audit.to_ci_report, audit.verdict),
    Part.CHAT: _OfPart(chat.describe, chat.to_ci_report, chat.verdict),
}


def describe(report: CheckReport, options: RenderOptions) -> Document:
    """Describe a check, model by model, and then all outcomes in one table."""
    causes = list(_list_causes(report))
    return Document(
        title="tokverify check",
        verdict=verdict(report),
        exit_code=check_exit_code(report),
        sections=_describe_sections(report, causes, options),
        outcome=_OUTCOMES[check_exit_code(report)],
        options=report.options,
        versions=report.versions,
        causes=[plain(line) for cause in causes for line in cause.lines],
    )


def _describe_sections(report: CheckReport, causes: Sequence[Item], options: RenderOptions) -> Iterator[Section]:
    columns = [Column("model"), Column("part"), Column("outcome"), Column("verdict")]
    outcome = Table(columns, list(_outcome_rows(report)))
    files = Fields([(visible_message(model.name), code(model.source)) for model in report.models])
    if causes:
        yield Section([Only("markdown", [Items(causes, numbered=False)])], "Causes")
    yield Section([Only("markdown", [outcome]), Only("html", [outcome, files])], "Outcome")
    folds = False
    for model in report.models:
        for part, found in model.results.items():
            shown = found if options.verbose else _without_infos(found)
            is_shown = options.verbose or _has_news(model, part)
            folds |= shown != found or not is_shown
            if is_shown:
                title = message(f"{model.name}: {part}", Style.STRONG)
                yield Section([Only("table", [Paragraph(title)]), Only("markdown", [Heading(title.text)])])
                yield from _PARTS[part].describe(shown, options).sections
    # Last, since people see the end of a terminal's output first.
    note = [Paragraph(Span(_FOLDED, Style.DIM))] if folds else []
    yield Section([Only("table", [outcome, *note])], "Outcome")
    yield Section([Only("markdown", note)])
    if causes:
        yield Section([Only("table", [Items(causes, numbered=False)])], "Causes")


def _list_causes(report: CheckReport) -> Iterator[Item]:
    """Repeat why each model fails: the most likely cause, or else what the audit found; and what chat templates do.

    Of a model of which no part could be performed, say why not.
    """
    for model in report.models:
        commands: Sequence[Command] = ()
        if part_exit_code(model, Part.RUN) and model.run:
            if model.run.diagnosis and model.run.diagnosis.explanations:
                commands = model.run.diagnosis.explanations[0].repair.commands
            first, *others = answer(model.run) or [run_verdict(model.run)]
            yield Item(list(map(message, [f"{model.name}: {first}", *others])), commands)
        elif part_exit_code(model, Part.AUDIT) and model.audit:
            for finding in _failing_findings(model.audit)[:_NAMED]:
                text = f"{model.name}: {finding.code} {finding.name}: {finding.message}"
                yield Item(list(map(message, [text, *finding.refusals])), finding.remedy.commands)
        if not model.results:
            reasons = dict.fromkeys(note.message for note in model.notes if note.is_failure)
            yield from (Item([message(f"{model.name}: {reason}")]) for reason in reasons)
        if model.chat:
            yield from _list_chat_causes(model.name, model.chat, commands)


def _list_chat_causes(name: str, report: ChatReport, commands: Sequence[Command]) -> Iterator[Item]:
    """Name what fails in chat templates, with its repair unless `commands` or another cause show it."""
    shown = list(map(command_line, commands))
    for found in [found for found in report.findings if finding_fails(report, found)][:_NAMED]:
        cause = message(f"{name}: chat {found.kind}: {found.message}")
        repair = chat.repair_sentence(found, report)
        # One can have more options, or a remark behind it.
        is_shown = any(each.startswith(repair) or repair.startswith(each) for each in shown)
        yield Item([cause] if is_shown else [cause, message(f"repair: {repair}")])
        shown.append(repair)


def _failing_findings(report: AuditReport) -> list[Finding]:
    return [finding for finding in report.findings if fails_audit(finding.severity, report)]


def _has_news(model: ModelCheck, part: Part) -> bool:
    """Whether a part fails, warns, or has entries of a baseline that accept nothing.

    An audit repeats what the run of the same model warns of.
    """
    if part_exit_code(model, part):
        return True
    if part is Part.RUN and model.run:
        warns = any(each.severity > Severity.INFO and each.known is None for each in model.run.differences)
        is_new = bool(model.run.baseline and model.run.baseline.fixed)
        return is_new or (warns and model.audit is None)
    if part is Part.AUDIT and model.audit:
        return bool(model.audit.unused_waivers or _warnings(model.audit.findings))
    if part is Part.CHAT and model.chat:
        return bool(model.chat.unused) or any(found.known is None for found in _warnings(model.chat.findings))
    return False


def _without_infos(found: Report | AuditReport | ChatReport) -> Report | AuditReport | ChatReport:
    """Return a report without the findings of rules or templates that are for information."""
    if isinstance(found, AuditReport):
        return replace(found, findings=_warnings(found.findings))
    if isinstance(found, ChatReport):
        return replace(found, findings=_warnings(found.findings))
    return found


def _warnings(findings: Sequence[_Finding]) -> tuple[_Finding, ...]:
    return tuple(finding for finding in findings if finding.severity > Severity.INFO)


def _outcome_rows(report: CheckReport) -> Iterator[list[Inline]]:
    for model in report.models:
        for part in model.parts:
            exit_code = part_exit_code(model, part)
            style = Style.DIM if exit_code is None else VERDICT_STYLES.get(exit_code, Style.WARNING)
            outcome = message(NOTHING if exit_code is None else _WORDS[exit_code], style)
            yield [message(model.name), str(part), outcome, message(_part_verdict(model, part))]


def to_ci_report(report: CheckReport) -> CiReport:
    """Return the issues of a check."""
    parts = [_PARTS[part].to_ci_report(found) for model in report.models for part, found in model.results.items()]
    checks = {check.id: check for check in chain([_CANNOT_RUN], *(part.checks for part in parts))}
    return CiReport(
        issues=chain(_failures(report), *(part.issues for part in parts)),
        checks=tuple(checks.values()),
        skipped=[sentence for part in parts for sentence in part.skipped],
    )


def _failures(report: CheckReport) -> Iterator[Issue]:
    for model in report.models:
        for note in model.notes:
            if note.is_failure:
                yield Issue(
                    check=_CANNOT_RUN.id,
                    level=Level.ERROR,
                    title=f"{visible_message(model.name)}: {note.part} could not be performed",
                    message=visible_message(note.message),
                    path=model.source,
                    key=f"{model.name}\0{note.part}",
                )


def suites_of(report: CheckReport) -> Iterator[Element]:
    """Yield the suites of each model, one with a test for each part; the findings of an audit make its test fail."""
    for model in report.models:
        yield suite(f"check {model.name}", {"model": model.source}, [_part_test(model, part) for part in model.parts])
        suites = [*(run_suites(model.run) if model.run else ()), *(chat.suites_of(model.chat) if model.chat else ())]
        yield from suites if len(report.models) == 1 else (_of_model(each, model.name) for each in suites)


def _of_model(suite: Element, model: str) -> Element:
    """Name a model in a suite and its tests, which a program that keeps their history knows by their names."""
    name = visible_message(model)
    suite.set("name", f"{name}: {suite.get('name')}")
    for test in suite.iter("testcase"):
        test.set("classname", f"{name}.{test.get('classname')}")
    return suite


def _part_test(model: ModelCheck, part: Part) -> Element:
    code = part_exit_code(model, part)
    verdict = visible_message(_part_verdict(model, part))
    test = passed(part, model.name, "" if code else verdict)
    if code is None:
        return not_passed(passed(part, model.name), "skipped", part, verdict, [])
    return not_passed(test, _TAGS[code], part, verdict, [verdict, *_findings(model, part)]) if code else test


def _findings(model: ModelCheck, part: Part) -> list[str]:
    if part is not Part.AUDIT or model.audit is None:
        return []
    return [
        visible_message(f"{finding.severity.name} {finding.code} {finding.name}: {finding.message}")
        for finding in model.audit.findings
    ]


def verdict(report: CheckReport) -> str:
    """Sum up a check, such as `2 models: 1 fails (small: audit)`, and what was not compared."""
    return "; ".join([_outcome(report), *_reservations(report)])


def _outcome(report: CheckReport) -> str:
    failing = [model for model in report.models if model_exit_code(model)]
    if not failing:
        return f"{plural(len(report.models), 'model')}: nothing that was checked fails"
    outcomes = [_failing_models(failing, code) for code in (1, 2)]
    return f"{plural(len(report.models), 'model')}: {', '.join(filter(None, outcomes))}"


def _failing_models(failing: Sequence[ModelCheck], code: int) -> str:
    """Count and name the models of which a part has an exit code, with these parts; empty if there are none."""
    parts = [[str(part) for part in model.parts if part_exit_code(model, part) == code] for model in failing]
    named = [
        f"{model.name}: {', '.join(own) or NOTHING}"
        for model, own in zip(failing, parts, strict=True)
        if own or (model_exit_code(model) == code and not model.results)
    ]
    words = verb(len(named), "fail") if code == 1 else _WORDS[code]
    return f"{len(named):,} {words} ({'; '.join(named)})" if named else ""


def _reservations(report: CheckReport) -> Iterator[str]:
    """Yield what people must know who read nothing but the verdict, with the models concerned unless these are all."""
    models: dict[str, list[str]] = {}
    for model in report.models:
        unreferenced = [WITHOUT_REFERENCE] if model.audit and model.audit.reference is None else []
        for reservation in reservations(model.run) if model.run else unreferenced:
            models.setdefault(reservation, []).append(model.name)
    for reservation, names in models.items():
        concerned = list_items(names, _NAMED)
        yield reservation if len(names) == len(report.models) else f"{reservation} ({concerned})"


def _part_verdict(model: ModelCheck, part: Part) -> str:
    """Return the verdict of a part, or why it has none; it has not passed `visible_message` yet."""
    if found := model.results.get(part):
        return _PARTS[part].verdict(found)
    return "; ".join(note.message for note in model.notes if note.part is part)
