"""The section on how the tokenizers themselves differ, and the words that other formats use for the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokverify.render.case_text import known_text
from tokverify.render.document import SEVERITY_STYLES, Fields, Line, Section, Span, Style, message
from tokverify.report.finding import Severity
from tokverify.report.run import Report, failing_differences
from tokverify.report.tokenizer_difference import Aspect, TokenizerDifference, difference_fails
from tokverify.text.wording import plural

_NAMES: Mapping[Aspect, str] = {
    Aspect.AFFIXES: "tokens around a text",
    Aspect.RANKING: "order of merges or scores",
    Aspect.ENDS: "ends of a generation",
}

FAILS, KNOWN, SHOWN = "fails", "known", "shown"
"""What a difference does to the verdict."""


def effect_of(difference: TokenizerDifference, report: Report) -> str:
    """Return what a difference does to the verdict of its report."""
    if difference.known:
        return KNOWN
    return FAILS if difference_fails(difference, report.fail_on) else SHOWN


def difference_sections(report: Report, *, verbose: bool) -> Iterator[Section]:
    """Describe how the tokenizers differ, and what about them could not be compared.

    If the report fails, what is only worth knowing is counted; `verbose` shows it.
    """
    shown = list(report.differences)
    if not verbose and report.exit_code:
        shown = [each for each in shown if each.severity > Severity.INFO or effect_of(each, report) != SHOWN]
    lines = [line for difference in shown for line in _difference_lines(difference, report)]
    if left_out := len(report.differences) - len(shown):
        lines.append(("", message(f"... {left_out:,} more of no effect on the verdict, shown with -v ...", Style.DIM)))
    lines += [("not compared", message(reason, Style.DIM)) for reason in report.not_compared]
    if lines:
        yield Section([Fields(lines)], "Tokenizers")


def _difference_lines(difference: TokenizerDifference, report: Report) -> Iterator[Line]:
    effect = effect_of(difference, report)
    severity = Span(f"{difference.severity.name} ", SEVERITY_STYLES[difference.severity])
    aspect = message(f"{name_aspect(difference.aspect)}: ", Style.STRONG)
    style = Style.DIM if effect == SHOWN else Style.PLAIN
    yield effect, [severity, aspect, message(difference.message, style)]
    if difference.known:
        yield "", message(f"accepted: {known_text(difference.known)}", Style.NOTICE)
    yield from (("", message(refusal, Style.NOTICE)) for refusal in difference.refusals)


def count_effects(report: Report) -> str:
    """Sum up how the tokenizers differ, for a verdict; empty if there is nothing to say."""
    failing = len(failing_differences(report))
    # A verdict counts the cases that are decoded differently by itself.
    others = [each for each in report.differences if each.aspect is not Aspect.DECODING or each.known]
    known = sum(difference.known is not None for difference in others)
    shown = sum(effect_of(difference, report) == SHOWN for difference in others)
    rest = [f"{count:,} {word}" for count, word in ((known, "known"), (shown, "not failing")) if count]
    if failing:
        return ", ".join([f"{plural(failing, 'failing difference')} between the tokenizers", *rest])
    return f"differences between the tokenizers: {', '.join(rest)}" if rest else ""


def difference_line(difference: TokenizerDifference) -> str:
    """Return a difference as a line that has not passed `visible_message` yet."""
    return f"{difference.severity.name} {name_aspect(difference.aspect)}: {difference.message}"


def name_aspect(aspect: Aspect) -> str:
    """Return what people call an aspect; options and JSON use its value."""
    return _NAMES.get(aspect, aspect)
