"""Describe a check of chat templates: for people, as issues and suites for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.etree.ElementTree import Element

from tokverify.render.alignment import Fold
from tokverify.render.audit import acceptance, unused_entries
from tokverify.render.case_text import alignment_lines, shortened
from tokverify.render.chat_difference import ACTUAL, EXPECTED, TextLine, caret_rows, difference_lines, text_lines
from tokverify.render.document import (
    NOUNS,
    SEVERITY_STYLES,
    Alignment,
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Fields,
    Heading,
    Inline,
    Line,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    code,
    message,
)
from tokverify.render.draw_issues import not_passed, passed, suite, uncompared_tests
from tokverify.render.issue import LEVELS, Check, CiReport, Issue, Level, issue_of, join_lines
from tokverify.render.options import RenderOptions
from tokverify.report.chat import (
    CHAT_CODES,
    CHAT_KINDS,
    ChatFinding,
    ChatReport,
    Conversation,
    RenderedConversation,
    Rendering,
    Template,
    TextDifference,
    chat_exit_code,
    count_accepted,
    count_findings,
    fails_unchecked,
    finding_fails,
    findings_for,
    message_texts,
    repair_of,
)
from tokverify.report.finding import Severity
from tokverify.report.side import Side
from tokverify.text.command_line import fixed_name, name_files
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural

_LINE_STYLES = {ACTUAL: Style.ACTUAL, EXPECTED: Style.EXPECTED}
_OUTCOMES = {
    0: ("Passed", "nothing worse than INFO was found"),
    1: ("Failed", "an error or a warning was found"),
}
_INDENT = 2
_MIN_WIDTH = 20
# A template may write a million characters, which would take minutes to draw.
_MAX_CHARACTERS = 100_000
_WITH_TEXTS = frozenset({"drift", "white-space", "ids"})
"""The kinds of findings that concern the texts or ids of both sides."""
_MAX_LINE_CHARACTERS = 4000
CHAT_CHECKS: Sequence[Check] = tuple(
    Check(CHAT_CODES[kind], kind, about.summary, LEVELS[about.severity], f"{about.summary} Repair: {about.repair}.")
    for kind, about in CHAT_KINDS.items()
)
"""The kinds of findings."""
UNCHECKED_CHECK = Check("chat-not-checked", "not checked", "Something could not be checked.", Level.ERROR)
"""What the options require, but could not be checked."""
_UNCHECKED = "not checked"


def describe(report: ChatReport, options: RenderOptions) -> Document:
    """Describe a report; with `verbose`, everything that the templates write is included."""
    return Document(
        title=["tokverify chat: ", message(report.actual.name)],
        verdict=verdict(report),
        exit_code=chat_exit_code(report),
        sections=_describe_sections(report, options),
        outcome=_OUTCOMES[chat_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sections(report: ChatReport, options: RenderOptions) -> Iterator[Section]:
    yield Section([Fields(list(_describe_sides(report)))])
    if options.verbose:
        yield from _describe_texts_for_table(report, options.width)
    for finding in report.findings:
        yield _describe_finding(finding, report, several=len(report.templates) > 1, verbose=options.verbose)
    if report.unused:
        yield unused_entries(report.unused, "finding")
    if report.not_checked:
        yield Section([Bullets([message(reason) for reason in report.not_checked])], "Not checked")
    yield Section([Only("html", [Heading("Conversations")])])
    yield from _describe_texts_for_markdown(report, verbose=options.verbose)


def _describe_sides(report: ChatReport) -> Iterator[Line]:
    yield from _describe_side("model", report.actual)
    if report.expected:
        yield from _describe_side("reference", report.expected)
    for index, template in enumerate(report.templates):
        state = _template_state(template, report)
        name = message(template.name)
        yield "" if index else "templates", [name, Span(f", {state}", Style.DIM)] if state else name
    if not report.templates:
        yield "templates", "none"


def _describe_side(role: str, side: Side) -> Iterator[Line]:
    yield role, code(side.source, Style.STRONG)
    if side.caveat:
        yield "", message(f"caveat: {side.caveat}", Style.CAVEAT)


def repair_sentence(finding: ChatFinding, report: ChatReport) -> str:
    """Say how to repair what a finding is about, with the files named, as the diagnosis of `run` does."""
    repair = repair_of(finding, report)
    named, reference = report.options.get("model"), report.options.get("reference", "")
    if reference is None:
        # `tokverify fix` finds the same reference by itself.
        repair = repair.replace("-r REFERENCE ", "")
    model = named if isinstance(named, str) else report.actual.source
    return name_files(repair, model, fixed_name(model), reference or (report.expected and report.expected.source))


def _describe_finding(finding: ChatFinding, report: ChatReport, *, several: bool, verbose: bool) -> Section:
    title: Inline = [
        Span(f"{finding.severity.name} ", SEVERITY_STYLES[finding.severity]),
        message(finding.kind, Style.STRONG),
    ]
    lines: list[Line] = [("template", message(finding.template))] if several else []
    lines.append(("found", message(finding.message)))
    if finding.conversations:
        count = plural(len(finding.conversations), "conversation")
        lines.append(("in", message(f"{count}: {', '.join(finding.conversations)}", Style.DIM)))
    about = CHAT_KINDS[finding.kind]
    if finding.known:
        lines.append(("accepted", message(acceptance(finding.known))))
    elif finding.severity > Severity.INFO:
        lines.append(("repair", message(repair_sentence(finding, report))))
    lines += [("note", message(refusal)) for refusal in finding.refusals]
    hint: list[Line] = (
        [("", Span("-v shows both sides", Style.DIM))] if finding.kind in _WITH_TEXTS and not verbose else []
    )
    return Section(
        [
            Only("table", [Fields([*lines, *hint])]),
            Only("markdown", [Fields(lines)]),
            Only("html", [Fields([*lines, ("meaning", message(about.summary))])]),
        ],
        title,
    )


def _describe_texts_for_table(report: ChatReport, width: int) -> Iterator[Section]:
    """Show the sources and texts of both sides before the findings, as people see the end of a terminal's output."""
    for template in report.templates:
        if template.difference:
            source = [Span("SOURCE of "), message(template.name, Style.STRONG)]
            lines = _draw_difference(template.actual, template.expected, template.difference, width, fold=True)
            yield Section([Only("table", [Details(source, lines)])])
    for result in report.results:
        title = _describe_title(result, report)
        yield Section([Only("table", [Details(title, list(_describe_result(result, report, width)))])])


def _describe_title(result: RenderedConversation, report: ChatReport) -> list[Span]:
    template = [message(f"{result.template}: ", Style.DIM)] if len(report.templates) > 1 else []
    where = place(_conversation_of(result, report))
    title = [*template, message(result.conversation, Style.STRONG)]
    return [*title, message(f"  {where}", Style.DIM)] if where else title


def _describe_result(result: RenderedConversation, report: ChatReport, width: int) -> Iterator[Block]:
    note = _conversation_of(result, report).note
    lines: list[Line] = [("catches", message(note))] if note else []
    if result.text_difference and result.expected:
        counts = [("tokens", _describe_counts(result))] if result.actual_ids is not None else []
        yield Fields([*lines, *counts])
        yield from _draw_difference(result.actual.text, result.expected.text, result.text_difference, width)
        return
    lines += _describe_rendering("actual", result.actual, result.actual_ids, result.actual_refusal)
    if result.expected and result.expected == result.actual:
        lines.append(("expected", Span("the same", Style.DIM)))
    elif result.expected:
        lines += _describe_rendering("expected", result.expected, result.expected_ids, result.expected_refusal)
    yield Fields(lines)
    if result.difference:
        yield Alignment(result.difference, "expected", fold=False)


def _describe_counts(result: RenderedConversation) -> str:
    counts = {"actual": result.actual_ids, "expected": result.expected_ids}
    return ", ".join(f"{len(ids):,} in {role}" for role, ids in counts.items() if ids is not None)


def _describe_rendering(side: str, rendering: Rendering, ids: tuple[int, ...] | None, refusal: str) -> Iterator[Line]:
    if rendering.text is None:
        yield side, message(rendering.error, Style.CAVEAT)
        return
    yield side, Span(shortened(rendering.text, _MAX_CHARACTERS), is_code=True)
    if refusal:
        yield "", message(f"cannot be encoded: {refusal}", Style.CAVEAT)
    if ids is not None:
        yield "", Span(plural(len(ids), "token"), Style.DIM)


def _draw_difference(
    actual: str | None, expected: str | None, difference: TextDifference, width: int, *, fold: bool = False
) -> list[Block]:
    """Show the lines of both texts: `-` before those of actual, `+` before those of expected, `^` below differences."""
    room = max(_MIN_WIDTH, width - _INDENT - len("= "))
    drawn: list[Block] = []
    for line in text_lines(actual or "", expected or "", difference, fold=fold):
        if isinstance(line, Fold):
            drawn.append(Paragraph(Span(f"... {line.what} ...", Style.DIM)))
        else:
            drawn += _draw_line(line, room)
    return drawn


def _draw_line(line: TextLine, room: int) -> Iterator[Block]:
    style = _LINE_STYLES.get(line.mark, Style.DIM)
    for number, (shown, carets) in enumerate(caret_rows(line, room)):
        yield Paragraph(Span(f"{' ' if number else line.mark} {shown}", style))
        if carets:
            yield Paragraph(Span(f"  {carets}", style))


def _describe_texts_for_markdown(report: ChatReport, *, verbose: bool) -> Iterator[Section]:
    """Fold away the sources and texts that differ; with `verbose`, all of them."""
    for template in report.templates:
        if template.difference:
            texts = template.actual or "", template.expected or ""
            source = list(difference_lines(*texts, template.difference, fold=not verbose))
            title: Inline = ["The source of the template ", message(template.name)]
            yield Section([Only("markdown", [Details(title, [Code(source, "diff")])])])
    for result in report.results:
        if verbose or result.text_difference or result.difference:
            yield Section(
                [
                    Only("markdown", [_fold_away(result, report, verbose=verbose)]),
                    Only("html", [_describe_for_page(result, report)]),
                ]
            )


def _fold_away(result: RenderedConversation, report: ChatReport, *, verbose: bool) -> Details:
    note = _conversation_of(result, report).note
    lines = [f"catches: {message(note).text}"] if note else []
    lines += _result_lines(result, fold=not verbose)
    state = "different text: " if result.text_difference else "different ids: " if result.difference else ""
    return Details([state, *_describe_title(result, report)], [Code(lines, "diff")])


def _describe_for_page(result: RenderedConversation, report: ChatReport) -> Details:
    """Show a conversation, what was found in it, and what both sides write."""
    conversation = _conversation_of(result, report)
    lines: list[Line] = [("catches", message(conversation.note))] if conversation.note else []
    for role, text in message_texts(conversation.messages):
        lines.append((visible_message(role), Span(shortened(text), is_code=True)))
    if result.actual_ids is not None or result.expected_ids is not None:
        lines.append(("tokens", _describe_counts(result)))
    for role, refusal in (("actual", result.actual_refusal), ("expected", result.expected_refusal)):
        if refusal:
            lines.append((role, message(f"cannot be encoded: {refusal}", Style.CAVEAT)))
    found = sorted(findings_for(report, result), key=lambda finding: finding.severity, reverse=True)
    label = [Span(f"{found[0].severity.name} ", SEVERITY_STYLES[found[0].severity])] if found else []
    kinds = ", ".join(dict.fromkeys(finding.kind for finding in found))
    blocks: list[Block] = [Fields(lines), Code(list(_result_lines(result)), "diff")]
    return Details([*label, *_describe_title(result, report)], blocks, hint=message(kinds))


def _result_lines(result: RenderedConversation, *, fold: bool = True) -> Iterator[str]:
    """Show what both sides write, and where the texts or the ids differ."""
    actual, expected = result.actual, result.expected
    if result.text_difference and expected:
        yield from difference_lines(actual.text or "", expected.text or "", result.text_difference, fold=fold)
        return
    yield f"actual    {_describe(actual, fold)}"
    if expected and expected != actual:
        yield f"expected  {_describe(expected, fold)}"
    if result.difference:
        yield "ids"
        yield from alignment_lines(result.difference, "expected", fold=fold)


def _finding_line(finding: ChatFinding) -> str:
    """Write a finding in one line, such as `ERROR drift: writes ...`."""
    line = f"{finding.severity.name} {visible_message(finding.kind)}: {visible_message(finding.message)}"
    return line + (visible_message(f" (accepted: {acceptance(finding.known)})") if finding.known else "")


def _first_result(finding: ChatFinding, report: ChatReport) -> RenderedConversation | None:
    """Return the first result that a finding concerns, if any."""
    chosen = (result for result in report.results if result.template == finding.template)
    return next((result for result in chosen if result.conversation in finding.conversations), None)


def _describe(rendering: Rendering, fold: bool) -> str:
    if rendering.text is None:
        return f"{'refuses' if rendering.deliberate else 'fails'}: {visible_message(rendering.error)}"
    return (shortened(rendering.text, _MAX_LINE_CHARACTERS) if fold else visible(rendering.text)) or "(nothing)"


def to_ci_report(report: ChatReport) -> CiReport:
    """Return what CI systems show of a report."""
    return CiReport(
        issues=_issues(report),
        checks=(*CHAT_CHECKS, UNCHECKED_CHECK),
        skipped=[f"not checked: {visible_message(reason)}" for reason in report.not_checked],
    )


def _issues(report: ChatReport) -> Iterator[Issue]:
    """Yield each finding, at the first of its conversations if that has a file, and what failed to be checked."""
    for finding in report.findings:
        result = _first_result(finding, report)
        conversation = _conversation_of(result, report) if result else None
        if conversation and not conversation.file:
            conversation = None
        yield Issue(
            check=CHAT_CODES[finding.kind],
            level=LEVELS[finding.severity],
            title=f"{finding.kind}: {visible_message(finding.template)}",
            message=join_lines(_lines(finding, report)),
            path=conversation.file if conversation else report.actual.source,
            line=max(1, conversation.line) if conversation else 1,
            key=f"{report.actual.name}\0{finding.template}\0{finding.message}",
            accepted=visible_message(acceptance(finding.known)) if finding.known else None,
        )
    for reason in report.not_checked if fails_unchecked(report) else ():
        key = f"{report.actual.name}\0{reason}"
        yield issue_of(UNCHECKED_CHECK, [visible_message(reason)], path=report.actual.source, key=key)


def _lines(finding: ChatFinding, report: ChatReport) -> list[str]:
    lines = [visible_message(finding.message)]
    if finding.conversations:
        names = ", ".join(map(visible_message, finding.conversations))
        lines.append(f"in {plural(len(finding.conversations), 'conversation')}: {names}")
    if finding.known:
        lines.append(visible_message(f"accepted: {acceptance(finding.known)}"))
    elif finding.severity > Severity.INFO:
        lines.append(f"repair: {repair_sentence(finding, report)}")
    lines += map(visible_message, finding.refusals)
    result = _first_result(finding, report)
    if result and finding.kind in _WITH_TEXTS:
        lines += [f"conversation {visible_message(result.conversation)}:", *_result_lines(result)]
    return lines


def suites_of(report: ChatReport) -> Iterator[Element]:
    """Yield a suite for each template, and one for what was not checked; findings of severity INFO fail no test."""
    properties = _properties(report)
    if report.not_checked:
        tag = "failure" if fails_unchecked(report) else "skipped"
        yield suite(_UNCHECKED, properties, uncompared_tests(report.not_checked, _UNCHECKED, tag))
    for template in report.templates:
        results = [result for result in report.results if result.template == template.name]
        tests = [_result_test(result, report) for result in results]
        tests += [
            _finding_test(finding, report)
            for finding in report.findings
            if finding.template == template.name and not finding.conversations
        ]
        files = {_conversation_of(result, report).file for result in results}
        yield suite(template.name, properties, tests, files.pop() if len(files) == 1 else "")


def _properties(report: ChatReport) -> Mapping[str, str]:
    return {
        "model": report.actual.source,
        "fingerprint": report.actual.fingerprint or "",
        "reference": report.expected.source if report.expected else "",
        "caveat": report.expected.caveat if report.expected else "",
        "not checked": "; ".join(report.not_checked),
        "verdict": verdict(report),
    }


def _result_test(result: RenderedConversation, report: ChatReport) -> Element:
    found = findings_for(report, result)
    lines = list(map(_finding_line, found))
    cause = next((finding for finding in found if finding_fails(report, finding)), None)
    accepted = next((finding for finding in found if finding.known), None)
    if cause is None and accepted:
        test = passed(result.conversation, result.template)
        return not_passed(test, "skipped", accepted.kind, _finding_line(accepted), lines)
    if cause is None:
        return passed(result.conversation, result.template, "\n".join(lines))
    found_at = place(_conversation_of(result, report))
    where = [visible_message(found_at)] if found_at else []
    test = passed(result.conversation, result.template)
    return not_passed(test, "failure", cause.kind, _finding_line(cause), [*where, *lines, *_result_lines(result)])


def _finding_test(finding: ChatFinding, report: ChatReport) -> Element:
    """Return a test for a finding about a template as a whole."""
    line = _finding_line(finding)
    if not finding_fails(report, finding) and not finding.known:
        return passed(finding.kind, finding.template, line)
    tag = "skipped" if finding.known else "failure"
    return not_passed(passed(finding.kind, finding.template), tag, finding.kind, line, [line])


def verdict(report: ChatReport) -> str:
    """Summarize a report, such as `1 template, 14 conversations: 1 error, 2 informational findings`."""
    counts = {noun: count_findings(report, severity) for severity, noun in NOUNS.items()}
    found = [plural(count, noun) for noun, count in counts.items() if count]
    found += [f"{accepted:,} accepted"] if (accepted := count_accepted(report)) else []
    found += [plural(len(report.unused), "unused entry", "unused entries")] if report.unused else []
    templates = sum(template.actual is not None for template in report.templates)
    tried = f"{plural(templates, 'template')}, {plural(len(report.conversations), 'conversation')}"
    reason = "; failing because not everything was checked" if fails_unchecked(report) else ""
    return f"{tried}: {', '.join(found) or 'nothing found'}{reason}"


def _template_state(template: Template, report: ChatReport) -> str:
    """Compare a template with the reference's, in words; empty if the reference has no templates."""
    if template.actual is None:
        return "only in the reference"
    if template.expected is None:
        others = any(other.expected is not None for other in report.templates)
        return "not in the reference" if others else ""
    return "different in the reference" if template.difference else "the same in the reference"


def _conversation_of(result: RenderedConversation, report: ChatReport) -> Conversation:
    return next(conversation for conversation in report.conversations if conversation.id == result.conversation)


def place(conversation: Conversation) -> str:
    """Return the file and line of a conversation; empty for those that ship with tokverify."""
    return f"{conversation.file}:{conversation.line}" if conversation.file else ""
