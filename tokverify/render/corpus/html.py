"""The HTML page of a verified corpus: plots by cause, source and script, what was compared, and the examples."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.render.corpus.verdict import describe_throughput, format_bytes, list_coverage, verdict
from tokverify.render.fuzz.html import length
from tokverify.render.run.cause import Causes
from tokverify.render.run.html import case_list, case_page, comparison, diagnosis_data, outcome
from tokverify.report.corpus import CorpusReport, GroupCount, corpus_exit_code
from tokverify.text.visible import visible_message
from tokverify.text.wording import percentage, plural

_MAX_GROUPS = 200
_OUTCOMES = {
    0: ("Passed", "all documents compared agree, or no more differ than accepted"),
    1: ("Failed", "more documents differ than accepted"),
    2: ("Incomplete", "something could not be read, or was not compared"),
}


def render(verified: CorpusReport) -> str:
    """Render a verified corpus as one page."""
    context = {
        **outcome(
            visible_message(verified.report.actual.name), verdict(verified), corpus_exit_code(verified), _OUTCOMES
        ),
        **comparison(verified.report),
        **case_list((verified.report, _causes_by_case(verified))),
        "corpus": _corpus_data(verified),
        "undiagnosed": visible_message(verified.report.undiagnosed),
        "diagnosis": diagnosis_data(verified.report.diagnosis) if verified.report.diagnosis else None,
    }
    return case_page("corpus/page.html.jinja", context)


def _causes_by_case(verified: CorpusReport) -> Causes:
    """Return the causes and the document of each example, and what the judge says; readers filter by all of them."""
    found: dict[str, list[str]] = {}
    for example, result in zip(verified.examples, verified.report.results, strict=True):
        causes = [str(cause.cause) for cause in verified.causes if example.case in cause.cases]
        judgment = [visible_message(example.judgment)] if example.judgment else []
        found[result.case.name] = [*causes, visible_message(example.place), *judgment]
    return found


def _corpus_data(verified: CorpusReport) -> dict[str, object]:
    """Return the counts and the lengths of their bars; all strings are escaped."""
    return {
        "compared": f"{plural(verified.documents, 'document')}, {format_bytes(verified.bytes)}",
        "tokens": f"{verified.actual_tokens:,} tokens in actual, {verified.expected_tokens:,} in expected",
        "throughput": describe_throughput(verified.throughput, verified.bytes) if verified.throughput else "",
        "notes": list(map(visible_message, verified.notes)),
        "causes": [
            {
                "name": str(cause.cause),
                "meaning": visible_message(cause.meaning),
                "documents": f"{cause.documents:,}",
                "share": percentage(cause.documents, verified.documents),
                "length": length(cause.documents, verified.differing),
            }
            for cause in sorted(verified.causes, key=lambda cause: -cause.documents)
        ],
        "groups": [
            ("source", *_group_rows(verified.sources)),
            ("script", *_group_rows(verified.scripts)),
        ],
        "unreadable": [
            (f"{group.count:,}", visible_message(group.reason), list(map(visible_message, group.places)))
            for group in verified.unreadable_groups
        ],
        "coverage": list(list_coverage(verified)),
    }


def _group_rows(groups: Sequence[GroupCount]) -> tuple[list[dict[str, object]], int]:
    """Return the rows of a plot, worst first, and how many were left out; bars are relative to the worst share."""
    ordered = sorted(groups, key=lambda group: (-_share(group), -group.unreadable, group.name))
    highest = max(map(_share, groups), default=0.0)
    rows: list[dict[str, object]] = [
        {
            "name": visible_message(group.name),
            "differing": f"{group.differing:,}",
            "documents": f"{group.documents:,}",
            "share": percentage(group.differing, group.documents),
            "unreadable": f"{group.unreadable:,}" if group.unreadable else "",
            "length": round(100 * _share(group) / highest, 2) if highest else 0.0,
        }
        for group in ordered[:_MAX_GROUPS]
    ]
    return rows, len(groups) - len(rows)


def _share(group: GroupCount) -> float:
    return group.differing / group.documents if group.documents else 0.0
