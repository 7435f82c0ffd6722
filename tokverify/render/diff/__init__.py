"""The output formats of `tokverify diff`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.render.presentation import CI_FORMATS, Presentation, bind_formats, renderers
from tokverify.render.run.verdict import verdict as cases_verdict
from tokverify.report.fuzz import Stop
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import listed, plural

if TYPE_CHECKING:
    from tokverify.diff.example import Example
    from tokverify.diff.part import Change, Part
    from tokverify.render import RenderOptions
    from tokverify.report.diff import ChangeReport, Effect

_MAX_VALUE = 200
_MOST_NAMES = 20


def verdict(report: ChangeReport) -> str:
    """Sum up, such as `tokens: 2 added; 648 cases: 630 match, 18 mismatch`."""
    parts = [summary(part) for part in report.parts]
    if report.not_compared:
        parts.append("not all parts were compared")
    elif not parts:
        parts.append(_no_part(report))
    parts.append(cases_verdict(report.report))
    if report.fuzzed:
        parts.append(f"{report.fuzzed.failing:,} of {plural(report.fuzzed.strings, 'fuzzed string')} differ")
    if report.effect:
        parts.append(effect(report.effect))
    if report.fuzzed and report.fuzzed.stop is Stop.INTERRUPTED:
        parts.append("the fuzzing was interrupted")
    return "; ".join(parts)


def _no_part(report: ChangeReport) -> str:
    vocabulary = report.report.vocabulary
    # Of what a library tells, the spelling says nothing; to tokverify's own encoder it is what a text is compared with.
    if vocabulary is not None and vocabulary.respelled and report.old.family and report.new.family:
        return f"{plural(vocabulary.respelled, 'token')} spelled otherwise, no other part differs"
    return "no part differs"


def summary(part: Part) -> str:
    """Sum up a part, such as `tokens: 2 added, 1 removed`."""
    counts = (f"{count:,} {kind}" for kind, count in part.counts.items())
    # A saved report can name parts and kinds of changes as it likes.
    return visible_message(f"{part.name}: {', '.join(counts)}")


def change_line(change: Change) -> str:
    """Write a change in one line that has passed `visible`, such as `changed ··: USER_DEFINED → NORMAL`."""
    values = [None if value is None else visible_message(cut(value)) for value in (change.old, change.new)]
    shown = " → ".join(value or "none" for value in values)
    if change.kind in {"added", "removed"}:
        shown = values[0] or values[1] or ""
    return f"{visible_message(change.kind)} {visible(cut(change.what))}: {shown}"


def change_lines(part: Part, most: int) -> list[str]:
    """Write the first changes of a part, one a line, and how many there are more."""
    left = len(part.changes) - most
    return [*map(change_line, part.changes[:most]), *([f"and {left:,} more"] if left > 0 else [])]


def alike(example: Example) -> list[str]:
    """Tell what the cause is, and name the other cases that change for it, in lines that have passed `visible`."""
    lines = [reason(example)] if example.parts else []
    if example.alike:
        lines.append(f"the same change in {plural(len(example.alike), 'more case')}: {names(example.alike)}")
    return lines


def reason(example: Example) -> str:
    """Say what is known of the cause, in a line that has passed `visible`."""
    parts = visible_message(" and ".join(example.parts))
    if example.is_only:
        return f"of all that ids depend on, only the {parts} changed"
    return f"wherever the ids differ, there are tokens that changed: see the {parts}"


def names(cases: Sequence[str]) -> str:
    """Name cases, so many that one can still read it; the result has passed `visible`."""
    return listed(map(visible_message, cases), _MOST_NAMES)


def effect(found: Effect) -> str:
    """Sum up what a change does to a corpus."""
    lines = f"{share(found.changed_lines, found.lines)} of {plural(found.lines, 'line')}"
    tokens = f"{found.old_tokens:,} tokens before, {found.new_tokens:,} after"
    if found.old_tokens:
        tokens += f" ({(found.new_tokens - found.old_tokens) / found.old_tokens:+.2%})"
    return f"{lines} and {share(found.changed_bytes, found.bytes)} of the bytes of the corpus change, {tokens}"


def cut(value: str) -> str:
    """Leave out the end of what is too long for a cell of a table; `-f json` has it whole."""
    return value if len(value) <= _MAX_VALUE else f"{value[:_MAX_VALUE]}…"


def share(part: int, whole: int) -> str:
    """Write a share in percent; only nothing is 0 %, and only all is 100 %."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < part < whole:
        percent = min(max(percent, 0.01), 99.99)
    return f"{percent:.2f}%"


CHANGE_FORMATS: Mapping[str, Callable[[ChangeReport, RenderOptions], str]] = renderers(
    {
        "table": "tokverify.render.diff.table:render",
        "json": "tokverify.render.diff.json:render",
        "markdown": "tokverify.render.diff.markdown:render",
        "html": "tokverify.render.diff.html:render",
        "junit": "tokverify.render.diff.junit:render",
        **dict.fromkeys(CI_FORMATS, "tokverify.render.diff.issue:to_ci_report"),
    }
)
"""Name -> how what changed is written."""


def present(report: ChangeReport) -> Presentation:
    """Return how what changed is written."""
    return Presentation(bind_formats(CHANGE_FORMATS, report), verdict(report), report.exit_code)
