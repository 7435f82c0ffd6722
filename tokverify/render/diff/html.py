"""Write the page of a comparison: the changed parts, the effect on a corpus, and the changed texts by cause."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.render.case_text import headline
from tokverify.render.diff.consequence import consequence_lines
from tokverify.render.diff.verdict import (
    describe_cause,
    shorten_value,
    summarize_effect,
    summarize_part,
    verdict,
)
from tokverify.render.fuzz.html import length, run_data
from tokverify.render.fuzz.verdict import verdict as fuzz_verdict
from tokverify.render.html.page import version_list
from tokverify.render.run.cause import Causes, causes
from tokverify.render.run.html import case_list, case_page, comparison, entries, outcome
from tokverify.report.diff import ChangeReport, Effect, Example, Part, diff_exit_code, new_side
from tokverify.report.run import Report
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import percentage

_MAX_OPEN = 10
_MAX_CHANGES = 1000
_MAX_EXAMPLES = 20
_OUTCOMES = {
    0: ("Nothing changed", "no text was found that the two encode differently, and no part differs that must not"),
    1: ("Changed", "parts differ, or texts were found that the two encode differently"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C stopped the fuzzing; this page shows what was found until then"),
}


def render(report: ChangeReport) -> str:
    """Write a page that contains everything that changed."""
    examples = report.examples[:_MAX_EXAMPLES]
    reports: list[tuple[Report, Causes]] = [(report.report, _list_causes(report))]
    if report.fuzzed:
        reports.append((report.fuzzed.report, causes(report.fuzzed.report)))
    name = visible_message(new_side(report).source)
    context = {
        **outcome(name, verdict(report), diff_exit_code(report), _OUTCOMES),
        **comparison(report.report, ("new", "old")),
        **case_list(*reports),
        "options": list(entries(report.options)),
        "versions": version_list(report.versions),
        "not_compared": list(map(visible_message, report.not_compared)),
        "consequences": [(str(each.level), str(each.outcome), consequence_lines(each)) for each in report.consequences],
        "parts": list(map(_describe_part, report.parts)),
        "effect": _describe_effect(report.effect) if report.effect else None,
        "examples": _describe_examples(report, examples),
        "more_examples": len(report.examples) - len(examples),
        "fuzz": run_data(report.fuzzed) | {"verdict": fuzz_verdict(report.fuzzed)} if report.fuzzed else None,
    }
    return case_page("diff/page.html.jinja", context)


def _list_causes(report: ChangeReport) -> Causes:
    """List the causes of each case: the example that it changes like, and those that its result shows."""
    listed = {name: list(own) for name, own in causes(report.report).items()}
    for example in report.examples:
        first = report.report.results[example.index].case.name
        for name in (first, *example.others):
            listed.setdefault(name, []).insert(0, _name_cause(first))
    return listed


def _name_cause(case: str) -> str:
    return f"like {visible_message(case)}"


def _describe_part(part: Part) -> dict[str, object]:
    shown = part.changes[:_MAX_CHANGES]
    return {
        "summary": summarize_part(part),
        "open": len(part.changes) <= _MAX_OPEN,
        "changes": [
            (visible_message(change.kind), visible(shorten_value(change.what)), _value(change.old), _value(change.new))
            for change in shown
        ],
        "left_out": len(part.changes) - len(shown),
    }


def _value(value: str | None) -> str | None:
    return None if value is None else visible_message(shorten_value(value))


def _describe_effect(effect: Effect) -> dict[str, object]:
    counts = {"lines": (effect.changed_lines, effect.lines), "bytes": (effect.changed_bytes, effect.bytes)}
    return {
        "sentence": summarize_effect(effect),
        "shares": [
            (name, percentage(part, whole), f"{part:,} of {whole:,}", length(part, whole))
            for name, (part, whole) in counts.items()
        ],
    }


def _describe_examples(report: ChangeReport, examples: Sequence[Example]) -> list[dict[str, object]]:
    highest = max((1 + len(example.others) for example in examples), default=0)
    described: list[dict[str, object]] = []
    for example in examples:
        result, count = report.report.results[example.index], 1 + len(example.others)
        described.append(
            {
                "name": visible_message(result.case.name),
                "cause": _name_cause(result.case.name),
                "status": str(result.status),
                "cases": count,
                "length": length(count, highest),
                "headline": headline(result),
                "reason": describe_cause(example) if example.parts else "",
            }
        )
    return described
