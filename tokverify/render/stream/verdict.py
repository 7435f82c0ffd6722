"""The one-line summary of `tokverify stream`, and what several formats say about a failure."""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.report.stream import StreamedSide, StreamFailure, StreamFault, StreamReport
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural

FAULTS: Mapping[StreamFault, str] = {
    StreamFault.LOST: "text is lost",
    StreamFault.DUPLICATED: "text is duplicated",
    StreamFault.REPLACED: "text contains U+FFFD that was not encoded",
    StreamFault.CHANGED: "text is changed",
    StreamFault.ERROR: "an id cannot be decoded",
}
_MAX_TEXT = 300


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
    if failure.resumed_at is None:
        return visible_message(f"{failure.case}: {FAULTS[failure.fault]}")
    others = f", and at {plural(failure.others, 'other place')}" if failure.others else ""
    place = f"when resumed after {failure.resumed_at:,} of {plural(len(failure.ids), 'id')}{others}"
    return visible_message(f"{failure.case}: {FAULTS[failure.fault]} {place}")


def failure_texts(failure: StreamFailure) -> list[tuple[str, str]]:
    """Return the labeled texts of a failure, which have passed `visible` and are cut if they are very long."""
    return [("decoded at once", _show(failure.expected)), (_label(failure), _show(failure.streamed))]


def _label(failure: StreamFailure) -> str:
    if failure.fault is StreamFault.ERROR:
        return "error"
    return "decoded id by id" if failure.resumed_at is None else "decoded after resuming"


def _show(text: str) -> str:
    more = f" ... {len(text) - _MAX_TEXT:,} more characters" if len(text) > _MAX_TEXT else ""
    return visible(text[:_MAX_TEXT]) + more


def side_facts(streamed: StreamedSide) -> list[str]:
    """Return what was done on a side, and why anything was not, in lines that have passed `visible_message`."""
    lines = [f"{plural(streamed.texts, 'text')} with {plural(streamed.ids, 'id')}, by {streamed.method}"]
    if streamed.resumptions:
        lines.append(f"resumed {plural(streamed.resumptions, 'time')} within a text")
    lines += [f"{plural(count, 'text')}: {reason}" for reason, count in streamed.skipped.items()]
    return list(map(visible_message, lines))
