"""The one-line summary of `tokverify diff`, and the sentences that several formats share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokverify.render.run.verdict import verdict as cases_verdict
from tokverify.report.consequence import Outcome
from tokverify.report.diff import ChangeReport, Effect, Example, Part, PartChange, count_kinds, new_side, old_side
from tokverify.report.fuzz import Stop
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import list_items, percentage, plural

_MAX_VALUE = 200
_MAX_NAMES = 20


def verdict(report: ChangeReport) -> str:
    """Sum up a comparison, such as `tokens: 2 added; 648 cases: 630 match, 18 mismatch`."""
    parts = [summarize_part(part) for part in report.parts]
    if report.not_compared:
        parts.append("some parts were not compared")
    elif not parts:
        parts.append(_summarize_no_part(report))
    parts.append(cases_verdict(report.report))
    if report.fuzzed:
        parts.append(f"{report.fuzzed.failing:,} of {plural(report.fuzzed.strings, 'generated text')} differ")
    if report.effect:
        parts.append(summarize_effect(report.effect))
    if report.fuzzed and report.fuzzed.stop is Stop.INTERRUPTED:
        parts.append("fuzzing was interrupted")
    return "; ".join([*_summarize_breaking(report), *parts])


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
    values = [None if value is None else visible_message(shorten_value(value)) for value in (change.old, change.new)]
    shown = " → ".join(value or "none" for value in values)
    if change.kind in {"added", "removed"}:
        shown = values[0] or values[1] or ""
    return f"{visible_message(change.kind)} {visible(shorten_value(change.what))}: {shown}"


def change_lines(part: Part, limit: int) -> list[str]:
    """Write the first changes of a part, one per line, and how many more there are."""
    left = len(part.changes) - limit
    return [*map(change_line, part.changes[:limit]), *([f"and {left:,} more"] if left > 0 else [])]


def cause_lines(example: Example) -> list[str]:
    """Describe the cause and name the other cases that change for it, in lines that have passed `visible`."""
    lines = [describe_cause(example)] if example.parts else []
    if example.others:
        lines.append(f"the same change in {plural(len(example.others), 'more case')}: {list_names(example.others)}")
    return lines


def describe_cause(example: Example) -> str:
    """Describe what is known of a cause, in a line that has passed `visible`."""
    parts = visible_message(" and ".join(example.parts))
    if example.is_only:
        return f"of everything that ids depend on, only the {parts} changed"
    return f"wherever the ids differ, there are tokens that changed: see the {parts}"


def list_names(cases: Sequence[str]) -> str:
    """List the names of the first cases; the result has passed `visible`."""
    return list_items(map(visible_message, cases), _MAX_NAMES)


def summarize_effect(effect: Effect) -> str:
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


def shorten_value(value: str) -> str:
    """Cut off the end of a value that is too long for a table; `-f json` has all of it."""
    return value if len(value) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}…"
