"""Describe how two versions of a tokenizer differ: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from xml.etree.ElementTree import Element

from tokverify.render.document import (
    Bullets,
    Column,
    Details,
    Document,
    Fields,
    Heading,
    Inline,
    Line,
    Names,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    bar,
    exact,
    label_lines,
    message,
    plain,
)
from tokverify.render.fuzz import CASE_CHECKS, FINDING_CHECKS, cause_sections, finding_issues, tried_sections
from tokverify.render.fuzz import verdict as fuzz_verdict
from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.render.options import RenderOptions
from tokverify.render.run.cases import case_details, case_sections
from tokverify.render.run.describe import suites_section
from tokverify.render.run.issue import DECODING_CHECK, case_issue, case_suites, decoding_issues
from tokverify.render.run.verdict import verdict as cases_verdict
from tokverify.report.diff import (
    ChangeReport,
    Consequence,
    Effect,
    Example,
    Fit,
    Outcome,
    Part,
    PartChange,
    count_kinds,
    diff_exit_code,
    is_decided_early,
    new_side,
    old_side,
    pairing_exit_code,
)
from tokverify.report.diff import Level as ConsequenceLevel
from tokverify.report.fuzz import Stop
from tokverify.report.run import FAILING
from tokverify.report.side import Side
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import encode_options, list_items, percentage, plural, truncate

_OUTCOMES = {
    0: ("Nothing changed", "no text was found that the two encode differently, and no part differs that must not"),
    1: ("Changed", "parts differ, or texts were found that the two encode differently"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C stopped the fuzzing; this shows what was found until then"),
}
_MAX_EXAMPLES = 10
_MAX_CHANGES = {"table": 10, "markdown": 50}
_FITS = {Fit.USABLE: Style.GOOD, Fit.LIMITED: Style.GOOD, Fit.LOSSY: Style.BAD, Fit.UNUSABLE: Style.BAD}
_STYLES = {Outcome.VALID: Style.GOOD, Outcome.BROKEN: Style.BAD, Outcome.UNKNOWN: Style.WARNING}
_WHAT = {
    ConsequenceLevel.VOCABULARY: "weights",
    ConsequenceLevel.SPECIAL: "prompts and stop conditions",
    ConsequenceLevel.IDS: "embeddings and caches",
    ConsequenceLevel.TEXT: "round trips",
    ConsequenceLevel.COST: "token counts",
}
_CASE_CHECKS = (
    Check("change-mismatch", "mismatch", "A text is encoded differently than before.", Level.ERROR),
    Check("change-error", "error", "Only one of the versions can encode a text.", Level.ERROR),
)
_CHANGE_CHECKS = (
    Check("changed-part", "part", "A part of the tokenizer changed.", Level.ERROR),
    *_CASE_CHECKS,
    *FINDING_CHECKS,
    Check("changed-corpus", "corpus", "Texts of the corpus are encoded differently than before.", Level.ERROR),
    DECODING_CHECK,
    Check("unfit-pair", "unfit pair", "Two models cannot be used together.", Level.ERROR),
    Check("broken-consequence", "broken", "Something that depends on the tokenizer is no longer valid.", Level.ERROR),
    Check("not-compared", "not compared", "A part of the tokenizer could not be compared.", Level.WARNING),
)
"""Everything that `tokverify diff` can report."""
_MAX_ISSUE_CHANGES = 10
_MAX_VALUE = 200
"""In characters; `-f json` has all of a value."""
_MAX_NAMES = 20


def describe(report: ChangeReport, options: RenderOptions) -> Document:
    """Describe a comparison."""
    return Document(
        title=[message(old_side(report).source), " → ", message(new_side(report).source)],
        verdict=verdict(report),
        exit_code=diff_exit_code(report),
        sections=_describe_sections(report, verbose=options.verbose),
        outcome=_OUTCOMES[diff_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sections(report: ChangeReport, *, verbose: bool) -> Iterator[Section]:
    sides = [*_side_lines("old", old_side(report)), *_side_lines("new", new_side(report))]
    yield Section([Fields(sides)])
    if report.not_compared:
        yield Section([Bullets(list(map(message, report.not_compared)))], "Not compared", Style.WARNING)
    yield from _pairing_sections(report)
    if is_decided_early(report):
        return
    yield from _consequence_sections(report)
    yield Section([Only("html", [Heading("Parts")])])
    for part in report.parts:
        limits = {format: None if verbose else limit for format, limit in _MAX_CHANGES.items()}
        tables = [Only(format, [_list_changes(part, limit)]) for format, limit in limits.items()]
        yield Section([Details(Span(summarize_part(part), Style.STRONG), tables)])
    if not report.parts:
        yield Section([Only("html", [Paragraph("No part differs.")])])
    if report.effect:
        yield Section([Only("html", [Heading("Effect on the corpus")])])
        sentence = Fields([("corpus", message(_summarize_effect(report.effect)))])
        yield Section([sentence, Only("html", [_tabulate_effect(report.effect)])])
    yield Section([Only("html", [Heading("Cases")])])
    yield suites_section(report.report, verbose=verbose)
    yield from _describe_cases(report, verbose=verbose)
    if report.fuzzed:
        yield Section([Only("html", [Heading("Found by fuzzing")])])
        yield Section([Fields([("fuzzed", message(fuzz_verdict(report.fuzzed)))])])
        yield from (Section([Only("html", section.blocks)]) for section in tried_sections(report.fuzzed))
        yield from cause_sections(report.fuzzed)
        yield from case_sections(report.fuzzed.report, verbose=verbose, heading="generated text")


def _side_lines(role: str, side: Side) -> Iterator[Line]:
    encoder = "tokverify, as llama.cpp would" if side.family else side.name
    yield role, [message(side.source, Style.STRONG), message(f"  encoded by {encoder}", Style.DIM)]
    if side.fingerprint:
        yield "", Span(f"fingerprint {side.fingerprint}", Style.DIM)


def _tabulate_effect(effect: Effect) -> Table:
    """Show which shares of a corpus change; the other formats have them in a sentence."""
    counts = {"lines": (effect.changed_lines, effect.lines), "bytes": (effect.changed_bytes, effect.bytes)}
    rows: list[list[Inline]] = [
        [name, bar(percentage(part, whole), part, whole, Style.ACTUAL), f"{part:,} of {whole:,}"]
        for name, (part, whole) in counts.items()
    ]
    return Table([Column("of the corpus"), Column("changes", is_number=True), Column("")], rows)


def _list_changes(part: Part, limit: int | None) -> Table:
    rows = [
        (
            message(change.kind, Style.DIM),
            exact(truncate(change.what, _MAX_VALUE)),
            _describe_value(change.old, Style.EXPECTED),
            _describe_value(change.new, Style.ACTUAL),
        )
        for change in part.changes[:limit]
    ]
    left = len(part.changes) - len(rows)
    left_out = f"{plural(left, 'more change')}, shown with -v" if left else ""
    return Table([Column(""), Column(""), Column("old"), Column("new")], rows, left_out)


def _describe_value(value: str | None, style: Style) -> Inline:
    return Span("-", Style.DIM) if value is None else message(truncate(value, _MAX_VALUE), style)


def _describe_cases(report: ChangeReport, *, verbose: bool) -> Iterator[Section]:
    """Describe one case per cause, or all that change if `verbose`, and then the cases that did not simply match."""
    results = report.report.results
    changed = [result for result in results if result.status in FAILING]
    if changed:
        causes = plural(len(report.examples), "cause")
        sides = Paragraph(message("In the cases, actual is new and expected is old.", Style.DIM))
        yield Section([sides], f"{plural(len(changed), 'case')} changed, {causes}")
    yield from _describe_causes(report, verbose=verbose)
    settled = tuple(result for result in results if result.status not in FAILING)
    yield from case_sections(replace(report.report, results=settled), verbose=verbose)


def _describe_causes(report: ChangeReport, *, verbose: bool) -> Iterator[Section]:
    results = report.report.results
    for index, example in enumerate(report.examples):
        causes = [(label, Span(text)) for label, text in _cause_lines(example)]
        details = case_details(results[example.index], verbose=verbose, more=causes)
        is_drawn = verbose or index < _MAX_EXAMPLES
        yield Section([details if is_drawn else Only("markdown", [details])])
    if verbose:
        drawn = {example.index for example in report.examples}
        others = [result for index, result in enumerate(results) if result.status in FAILING and index not in drawn]
        yield from (Section([case_details(result, verbose=True)]) for result in others)
    elif report.examples[_MAX_EXAMPLES:]:
        names: list[str] = []
        for example in report.examples[_MAX_EXAMPLES:]:
            names += [results[example.index].case.name, *example.others]
        yield Section([Only("table", [Names("other causes", "shown with -v", names)])])


def _pairing_sections(report: ChangeReport) -> Iterator[Section]:
    """Say whether A and B can be used together, where that was asked."""
    if report.pairings:
        rows = [
            (str(each.use), message(each.fit, _FITS.get(each.fit, Style.WARNING)), message(each.reason))
            for each in report.pairings
        ]
        yield Section([Table([Column("use"), Column(""), Column("why")], rows)], "Can they be used together?")


def _consequence_sections(report: ChangeReport) -> Iterator[Section]:
    """Describe all consequences in a table, and each witness below it."""
    if not report.consequences:
        return
    columns = [Column("level"), Column("depends on it"), Column(""), Column("action")]
    rows: list[list[Inline]] = [
        [str(each.level), _WHAT[each.level], message(each.outcome, _STYLES[each.outcome]), message(each.action)]
        for each in report.consequences
    ]
    yield Section([Table(columns, rows)], "What the change invalidates")
    yield Section([Only("html", [Heading("Why")])])
    evidence: list[Line] = []
    for each in report.consequences:
        evidence += label_lines(str(each.level), [message(each.reason), *_describe_witness(each)])
    yield Section([Fields(evidence)])


def _describe_witness(consequence: Consequence) -> Iterator[Inline]:
    """Show the text that proves a consequence, if there is one, and what both versions make of it."""
    if witness := consequence.witness:
        options = encode_options(add_special=witness.add_special, parse_special=witness.parse_special)
        yield ["proof: ", _show_text(witness.text), f" ({options})"]
        yield ["old: ", _describe_side(consequence, witness.old, Style.EXPECTED)]
        yield ["new: ", _describe_side(consequence, witness.new, Style.ACTUAL)]


def _describe_side(consequence: Consequence, value: str, style: Style) -> Span:
    # Only decoded texts contain spaces and characters that matter; ids are plain words.
    return (
        _show_text(truncate(value, _MAX_VALUE), style)
        if consequence.level is ConsequenceLevel.TEXT
        else message(truncate(value, _MAX_VALUE), style)
    )


def _show_text(text: str, style: Style = Style.PLAIN) -> Span:
    return exact(text, style) if text else Span("the empty text", Style.DIM)


def consequence_lines(consequence: Consequence) -> list[str]:
    """Describe a consequence in lines that have passed `visible`."""
    lines = [f"{_WHAT[consequence.level]}: {consequence.outcome}; {visible_message(consequence.reason)}"]
    if consequence.action:
        lines.append(f"required: {visible_message(consequence.action)}")
    return [*lines, *map(plain, _describe_witness(consequence))]


def to_ci_report(report: ChangeReport) -> CiReport:
    """Return what CI systems show of a comparison."""
    return CiReport(
        issues=list_issues(report),
        checks=_CHANGE_CHECKS,
        properties={
            "old": old_side(report).source,
            "new": new_side(report).source,
            "sides": "actual is new, expected is old",
        },
        suites=partial(_suites, report),
        tested={check.id for check in (*_CASE_CHECKS, *CASE_CHECKS)},
    )


def _suites(report: ChangeReport, properties: Mapping[str, str]) -> Iterator[Element]:
    """Yield the suites of the cases, and one of the causes that fuzzing found."""
    yield from case_suites(report.report, properties)
    if report.fuzzed:
        yield from case_suites(report.fuzzed.report, properties)


def list_issues(report: ChangeReport) -> Iterator[Issue]:
    """Yield everything that changed; whatever does not come from the file of a case points at the tokenizer's file."""
    new, old = (visible_message(side.source) for side in (new_side(report), old_side(report)))
    sides = [f"actual is {new}, expected is {old}"]
    yield from _pairing_issues(report)
    yield from _consequence_issues(report)
    yield from (_part_issue(part, report) for part in report.parts)
    if report.effect and report.effect.changed_lines:
        yield _issue("changed-corpus", Level.ERROR, "changed: corpus", _summarize_effect(report.effect), report)
    for example in report.examples:
        result = report.report.results[example.index]
        more = [*sides, *(text for _, text in _cause_lines(example))]
        yield case_issue(result, report.report, "change", path=_file(report), more=more)
    if report.fuzzed:
        yield from finding_issues(report.fuzzed, _file(report), sides)
    yield from decoding_issues(report.report, _file(report))
    for reason in report.not_compared:
        yield _issue("not-compared", Level.WARNING, "not compared", visible_message(reason), report)


def _pairing_issues(report: ChangeReport) -> Iterator[Issue]:
    for each in report.pairings:
        if code := pairing_exit_code([each]):
            level = Level.ERROR if code == 1 else Level.WARNING
            text = f"{each.use}: {each.fit}; {visible_message(each.reason)}"
            yield _issue("unfit-pair", level, f"{each.fit}: {each.use}", text, report)


def _consequence_issues(report: ChangeReport) -> Iterator[Issue]:
    # The exit code depends on these; without `breaking`, on none.
    for consequence in (each for each in report.consequences if each.level in report.breaking):
        lines = "\n".join(consequence_lines(consequence))
        if consequence.outcome is Outcome.BROKEN:
            yield _issue("broken-consequence", Level.ERROR, f"broken: {consequence.level}", lines, report)
        elif consequence.outcome is Outcome.UNKNOWN:
            yield _issue("not-compared", Level.ERROR, f"not compared: {consequence.level}", lines, report)


def _part_issue(part: Part, report: ChangeReport) -> Issue:
    lines = [summarize_part(part), *map(change_line, part.changes[:_MAX_ISSUE_CHANGES])]
    if (left := len(part.changes) - _MAX_ISSUE_CHANGES) > 0:
        lines.append(f"and {left:,} more")
    level = Level.NOTE if report.behavior_only or report.breaking or report.pairings else Level.ERROR
    return _issue("changed-part", level, f"changed: {visible_message(part.name)}", "\n".join(lines), report)


def _issue(check: str, level: Level, title: str, message: str, report: ChangeReport) -> Issue:
    key = f"{new_side(report).name}\0{message}"
    return Issue(check=check, level=level, title=title, message=message, path=_file(report), key=key)


def _file(report: ChangeReport) -> str:
    return report.file or new_side(report).source


def verdict(report: ChangeReport) -> str:
    """Sum up a comparison, such as `tokens: 2 added; 648 cases: 630 match, 18 mismatch`."""
    fits = [f"{each.use}: {each.fit}" for each in report.pairings]
    if is_decided_early(report):
        return "; ".join([*fits, "nothing else was compared, because this decides"])
    parts = [summarize_part(part) for part in report.parts]
    if report.not_compared:
        parts.append("some parts were not compared")
    elif not parts:
        parts.append(_summarize_no_part(report))
    parts.append(cases_verdict(report.report))
    if report.fuzzed:
        parts.append(f"{report.fuzzed.failing:,} of {plural(report.fuzzed.strings, 'generated text')} differ")
    if report.effect:
        parts.append(_summarize_effect(report.effect))
    if report.fuzzed and report.fuzzed.stop is Stop.INTERRUPTED:
        parts.append("fuzzing was interrupted")
    return "; ".join([*fits, *_summarize_breaking(report), *parts])


def _summarize_breaking(report: ChangeReport) -> Iterator[str]:
    """Name the levels that decide, if the user chose them."""
    counted = [each for each in report.consequences if each.level in report.breaking]
    for outcome in (Outcome.BROKEN, Outcome.UNKNOWN, Outcome.VALID):
        levels = [str(each.level) for each in counted if each.outcome is outcome]
        if levels:
            yield f"{outcome}: {', '.join(levels)}"


def _summarize_no_part(report: ChangeReport) -> str:
    vocabulary = report.report.vocabulary
    # The pieces of a library matter only for their bytes; tokverify's own encoder matches texts against them.
    is_ours = old_side(report).family and new_side(report).family
    if vocabulary is not None and vocabulary.respelled and is_ours:
        return f"{plural(vocabulary.respelled, 'token')} stored differently, no other part differs"
    return "no part differs"


def summarize_part(part: Part) -> str:
    """Sum up a part, such as `tokens: 2 added, 1 removed`."""
    counts = (f"{count:,} {kind}" for kind, count in count_kinds(part).items())
    # A saved report may contain any names for parts and kinds of changes.
    return visible_message(f"{part.name}: {', '.join(counts)}")


def change_line(change: PartChange) -> str:
    """Write a change in one line that has passed `visible`, such as `changed ··: USER_DEFINED → NORMAL`."""
    old, new = (visible_message(truncate(value or "", _MAX_VALUE)) for value in (change.old, change.new))
    shown = f"{old or 'none'} → {new or 'none'}"
    if change.kind in {"added", "removed"}:
        shown = old or new
    return f"{visible_message(change.kind)} {visible(truncate(change.what, _MAX_VALUE))}: {shown}"


def _cause_lines(example: Example) -> Iterator[tuple[str, str]]:
    """Describe the cause and name the other cases that change for it, in labeled lines that have passed `visible`."""
    if example.parts:
        yield "cause", describe_cause(example)
    if example.others:
        count = plural(len(example.others), "more case")
        yield "also", f"the same change in {count}: {list_items(example.others, _MAX_NAMES, visible_message)}"


def describe_cause(example: Example) -> str:
    """Describe what is known of a cause, in a line that has passed `visible`."""
    parts = visible_message(" and ".join(example.parts))
    if example.is_only:
        return f"of everything that ids depend on, only the {parts} changed"
    return f"wherever the ids differ, there are tokens that changed: see the {parts}"


def _summarize_effect(effect: Effect) -> str:
    """Sum up the effect on a corpus."""
    skipped = f"{plural(effect.skipped_lines, 'line')} skipped, which one of the two does not support"
    if effect.skipped_lines and not effect.lines:
        return f"no line of the corpus was compared: {skipped}"
    lines = f"{percentage(effect.changed_lines, effect.lines)} of {plural(effect.lines, 'line')}"
    tokens = f"{effect.old_tokens:,} tokens before, {effect.new_tokens:,} after"
    if effect.old_tokens:
        tokens += f" ({(effect.new_tokens - effect.old_tokens) / effect.old_tokens:+.2%})"
    bytes = percentage(effect.changed_bytes, effect.bytes)
    summary = f"{lines} and {bytes} of the bytes of the corpus change, {tokens}"
    return f"{summary}; {skipped}" if effect.skipped_lines else summary
