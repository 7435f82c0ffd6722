"""The page of `tokverify diff`: the parts that changed, the effect on a corpus, and the texts that change, by cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokverify.diff.example import examples
from tokverify.render.case_text import headline
from tokverify.render.diff import cut, effect, reason, share, summary, verdict
from tokverify.render.fuzz import verdict as fuzz_verdict
from tokverify.render.fuzz.html import length, run_data
from tokverify.render.html.cause import causes
from tokverify.render.html.page import version_list
from tokverify.render.run.html import case_list, case_page, comparison, entries, outcome
from tokverify.text.visible import visible, visible_message

if TYPE_CHECKING:
    from tokverify.diff.example import Example
    from tokverify.diff.part import Part
    from tokverify.render.html.cause import Causes
    from tokverify.report.diff import ChangeReport, Effect
    from tokverify.report.run import Report

_MOST_OPEN = 10
_MOST_CHANGES = 1000
_MOST_EXAMPLES = 20
_OUTCOMES = {
    0: ("Nothing changed", "no text was found that the two encode differently, and no part that counts differs"),
    1: ("Changed", "parts differ, or texts that the two encode differently were found"),
    2: ("Nothing compared", "no text could be compared"),
    130: ("Interrupted", "Ctrl-C ended the fuzzing; what was found until then is here"),
}


def render(report: ChangeReport) -> str:
    """Write a page that holds all that changed."""
    found = examples(report)
    reports = [(report.report, _causes(report.report, found))]
    if report.fuzzed:
        reports.append((report.fuzzed.report, causes(report.fuzzed.report)))
    context = {
        **outcome(visible_message(report.new.source), verdict(report), report.exit_code, _OUTCOMES),
        **comparison(report.report, ("new", "old")),
        **case_list(*reports),
        "options": list(entries(report.options)),
        "versions": version_list(report.versions),
        "not_compared": list(map(visible_message, report.not_compared)),
        "parts": list(map(_part, report.parts)),
        "effect": _effect(report.effect) if report.effect else None,
        "examples": _examples(found[:_MOST_EXAMPLES]),
        "more_examples": max(0, len(found) - _MOST_EXAMPLES),
        "fuzz": run_data(report.fuzzed) | {"verdict": fuzz_verdict(report.fuzzed)} if report.fuzzed else None,
    }
    return case_page("change.html.jinja", context)


def _causes(report: Report, found: Sequence[Example]) -> Causes:
    """Return the causes of each case: those it tells itself, and the example that it changes as."""
    told = {name: list(own) for name, own in causes(report).items()}
    for example in found:
        for name in (example.result.name, *example.alike):
            told.setdefault(name, []).insert(0, _cause(example))
    return told


def _cause(example: Example) -> str:
    return f"as in {visible_message(example.result.name)}"


def _part(part: Part) -> dict[str, object]:
    shown = part.changes[:_MOST_CHANGES]
    return {
        "summary": summary(part),
        "open": len(part.changes) <= _MOST_OPEN,
        "changes": [
            (visible_message(change.kind), visible(cut(change.what)), _value(change.old), _value(change.new))
            for change in shown
        ],
        "left_out": len(part.changes) - len(shown),
    }


def _value(value: str | None) -> str | None:
    return None if value is None else visible_message(cut(value))


def _effect(found: Effect) -> dict[str, object]:
    counts = {"lines": (found.changed_lines, found.lines), "bytes": (found.changed_bytes, found.bytes)}
    return {
        "sentence": effect(found),
        "shares": [
            (name, share(part, whole), f"{part:,} of {whole:,}", length(part, whole))
            for name, (part, whole) in counts.items()
        ],
    }


def _examples(found: Sequence[Example]) -> list[dict[str, object]]:
    most = max((1 + len(example.alike) for example in found), default=0)
    return [
        {
            "name": visible_message(example.result.name),
            "cause": _cause(example),
            "status": str(example.result.status),
            "cases": 1 + len(example.alike),
            "length": length(1 + len(example.alike), most),
            "headline": headline(example.result),
            "reason": reason(example) if example.parts else "",
        }
        for example in found
    ]
