"""Describe a report of `tokverify stream`: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.render.document import Document, Fields, Inline, Item, Items, Section, Span, Style, message
from tokverify.render.issue import Check, CiReport, Issue, Level
from tokverify.render.options import RenderOptions
from tokverify.render.run.describe import side_lines
from tokverify.report.stream import StreamedSide, StreamFailure, StreamFault, StreamReport, stream_exit_code
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural, quote

_OUTCOMES = {
    0: ("Passed", "all texts decoded id by id equal those decoded at once"),
    1: ("Failed", "a text decoded id by id differs from the text decoded at once"),
    2: ("Nothing streamed", "some side could not stream any text"),
}
_SHOWN = 10
FAULTS: Mapping[StreamFault, str] = {
    StreamFault.LOST: "text is lost",
    StreamFault.DUPLICATED: "text is duplicated",
    StreamFault.REPLACED: "text contains U+FFFD that was not encoded",
    StreamFault.CHANGED: "text is changed",
    StreamFault.EXTENDED: "a session that is extended piece by piece has other ids than its text",
    StreamFault.ERROR: "an id cannot be decoded, or a session cannot be extended",
}
_CHECKS = tuple(
    Check(f"stream-{fault}", str(fault), f"When ids are decoded one by one, {effect}.", Level.ERROR)
    for fault, effect in FAULTS.items()
)
_MAX_TEXT = 300


def describe(report: StreamReport, options: RenderOptions) -> Document:
    """Describe a report; with `verbose`, every failure."""
    return Document(
        title=["tokverify stream: ", message(report.sides[0].side.name)],
        verdict=verdict(report),
        exit_code=stream_exit_code(report),
        sections=_describe_sides(report, verbose=options.verbose),
        outcome=_OUTCOMES[stream_exit_code(report)],
        options=report.options,
        versions=report.versions,
    )


def _describe_sides(report: StreamReport, *, verbose: bool) -> Iterator[Section]:
    for role, streamed in zip(("model", "reference"), report.sides, strict=False):
        lines = [*side_lines(role, streamed.side, verbose=verbose), *(("", line) for line in _side_facts(streamed))]
        yield Section([Fields(lines)])
        if streamed.failures:
            yield Section(
                [_list_failures(streamed, verbose=verbose)], f"Failures: {visible_message(streamed.side.name)}"
            )


def _list_failures(streamed: StreamedSide, *, verbose: bool) -> Items:
    shown = streamed.failures if verbose else streamed.failures[:_SHOWN]
    left_out = len(streamed.failures) - len(shown)
    note = f"{plural(left_out, 'more failure')}, shown with -v" if left_out else ""
    items: list[Item] = []
    for failure in shown:
        lines: list[Inline] = [Span(describe_failure(failure), Style.STRONG)]
        lines += [[f"{label}: ", Span(text, is_code=True)] for label, text in _failure_texts(failure)]
        items.append(Item(lines))
    return Items(items, note)


def to_ci_report(report: StreamReport) -> CiReport:
    """Return what CI systems show of a report."""
    return CiReport(
        issues=(_issue(failure, streamed) for streamed in report.sides for failure in streamed.failures),
        checks=_CHECKS,
        skipped=[
            visible_message(f"{streamed.side.name}, {plural(count, 'text')}: {reason}")
            for streamed in report.sides
            for reason, count in streamed.skipped.items()
        ],
        properties={"sides": "; ".join(f"{side.side.source}, by {side.method}" for side in report.sides)},
    )


def _issue(failure: StreamFailure, streamed: StreamedSide) -> Issue:
    sentence = describe_failure(failure)
    texts = [f"{label}: {text}" for label, text in _failure_texts(failure)]
    return Issue(
        check=f"stream-{failure.fault}",
        level=Level.ERROR,
        title=f"stream: {visible_message(streamed.side.name)}",
        message="\n".join([sentence, *texts]),
        path=streamed.side.source,
        key=f"{streamed.side.name}\0{failure.case}\0{failure.fault}\0{failure.resumed_at}",
    )


def verdict(report: StreamReport) -> str:
    """Summarize a report, such as `sample: 657 texts streamed, 0 fail; tokenizers: 657 texts streamed, 2 fail`."""
    return "; ".join(map(_summarize_side, report.sides))


def _summarize_side(streamed: StreamedSide) -> str:
    if streamed.texts == 0:
        return f"{streamed.side.name}: nothing was streamed"
    failing = len({failure.case for failure in streamed.failures})
    return f"{streamed.side.name}: {plural(streamed.texts, 'text')} streamed, {failing:,} fail"


def describe_failure(failure: StreamFailure) -> str:
    """Describe a failure in a sentence that has passed `visible_message`."""
    if failure.extended_to is not None:
        end = plural(failure.extended_to, "character")
        return visible_message(f"{failure.case}: {FAULTS[failure.fault]}, first when it has {end}")
    if failure.resumed_at is None:
        return visible_message(f"{failure.case}: {FAULTS[failure.fault]}")
    others = f", and at {plural(failure.others, 'other place')}" if failure.others else ""
    place = f"when resumed after {failure.resumed_at:,} of {plural(len(failure.ids), 'id')}{others}"
    return visible_message(f"{failure.case}: {FAULTS[failure.fault]} {place}")


def _failure_texts(failure: StreamFailure) -> list[tuple[str, str]]:
    """Return the labeled texts of a failure, which have passed `visible` and are cut if they are very long."""
    if failure.fault is StreamFault.EXTENDED:
        return [("encoded at once", _show(failure.expected)), ("encoded piece by piece", _show(failure.streamed))]
    label = "decoded id by id" if failure.resumed_at is None else "decoded after resuming"
    if failure.fault is StreamFault.ERROR:
        label = "error"
    return [("decoded at once", _show(failure.expected)), (label, _show(failure.streamed))]


def _show(text: str) -> str:
    more = f" ... {len(text) - _MAX_TEXT:,} more characters" if len(text) > _MAX_TEXT else ""
    return visible(text[:_MAX_TEXT]) + more


def _side_facts(streamed: StreamedSide) -> list[str]:
    """Return what was done on a side, and why anything was not, in lines that have passed `visible_message`."""
    lines = [f"{plural(streamed.texts, 'text')} with {plural(streamed.ids, 'id')}, by {streamed.method}"]
    if streamed.resumptions:
        lines.append(f"resumed {plural(streamed.resumptions, 'time')} within a text")
    lines += [f"{plural(count, 'text')}: {reason}" for reason, count in streamed.skipped.items()]
    return [*map(visible_message, lines), *_describe_reach(streamed)]


def _describe_reach(streamed: StreamedSide) -> Iterator[str]:
    """Say how far back extensions change tokens, in lines that have passed `visible_message`."""
    if not streamed.extensions:
        return
    session = ", and so was a session" if streamed.sessions else ""
    yield f"extended {plural(streamed.extensions, 'time')} by the next piece of a text{session}"
    if not streamed.reaches:
        yield "no extension changes a token"
    for reach in streamed.reaches:
        size = f"{plural(reach.tokens, 'token')} ({plural(reach.characters, 'character')})"
        case = visible_message(reach.case)
        yield f"an extension changes up to {size}: {_quote(reach.before)} + {_quote(reach.added)} in {case}"


def _quote(text: str) -> str:
    return quote(text, mark_spaces=True)
