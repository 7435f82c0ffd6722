"""Describe what was learned about a tokenizer, and what was not."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.document import (
    Bullets,
    Column,
    Document,
    Fields,
    Inline,
    Line,
    Paragraph,
    Section,
    Style,
    Table,
    code,
    exact,
    message,
)
from tokverify.render.issue import Check, CiReport, Issue, Level, issue_of
from tokverify.render.options import RenderOptions
from tokverify.report.learn import Learning, Origin, learning_exit_code
from tokverify.text.visible import visible, visible_message
from tokverify.text.wording import plural

_ORIGINS = {
    Origin.DECLARED: "declared by the reference",
    Origin.IDS: "revealed by ids",
    Origin.CONVENTION: "by convention, and agrees with the ids",
}
_OUTCOMES = {
    0: ("Learned", "all generated texts have the same ids"),
    1: ("Learned in part", "a generated text has other ids"),
}
_SHOWN = 12
_DIFFERENCE = Check("learn-difference", "difference", "The learned tokenizer gives other ids.", Level.ERROR)
_HIDDEN = Check("learn-hidden", "not revealed", "The reference does not reveal something.", Level.NOTE)


def describe(learning: Learning, options: RenderOptions) -> Document:
    """Describe what was learned; with `verbose`, every added token."""
    return Document(
        title=["tokverify learn: ", message(learning.target)],
        verdict=verdict(learning),
        exit_code=learning_exit_code(learning),
        sections=_describe_sections(learning, verbose=options.verbose),
        outcome=_OUTCOMES[learning_exit_code(learning)],
        versions=learning.versions,
        verdict_style=Style.WARNING if learning.differing else Style.GOOD,
    )


def verdict(learning: Learning) -> str:
    """Summarize what was written, and how well it agrees."""
    texts = plural(learning.texts, "generated text")
    if not learning.differing:
        return f"{learning.target}: written; it gives the same ids as the reference for all {texts}"
    equal = learning.texts - learning.differing
    share = equal / learning.texts
    return f"{learning.target}: written; it gives the same ids for {equal:,} of {texts} ({share:.1%})"


def _describe_sections(learning: Learning, *, verbose: bool) -> Iterator[Section]:
    yield Section([Fields(list(_describe_reference(learning)))])
    yield Section([_tabulate_facts(learning)])
    if learning.added_tokens:
        yield Section([_tabulate_added(learning, verbose=verbose)])
    if learning.hidden:
        yield Section([Paragraph("Not revealed:"), Bullets([message(line) for line in learning.hidden])])
    if learning.examples:
        yield Section([_tabulate_examples(learning)])


def _describe_reference(learning: Learning) -> Iterator[Line]:
    yield "reference", code(learning.reference.source, Style.STRONG)
    if learning.encodings:
        yield "asked for", message(f"the ids of {plural(learning.encodings, 'text')}")
    counts = ", ".join(f"{count:,} {name}" for name, count in learning.types.items() if count)
    yield "tokens", message(f"{learning.size:,}: {counts}")


def _tabulate_facts(learning: Learning) -> Table:
    rows: list[list[Inline]] = [
        [message(fact.name), message(fact.value, Style.STRONG), message(_ORIGINS[fact.origin], Style.DIM)]
        for fact in learning.facts
    ]
    if learning.alike:
        names = ", ".join(learning.alike)
        rows.append(["", message(f"the same ids: {names}", Style.DIM), ""])
    return Table([Column("learned"), Column("value"), Column("how")], rows)


def _tabulate_added(learning: Learning, *, verbose: bool) -> Table:
    shown = learning.added_tokens if verbose else learning.added_tokens[:_SHOWN]
    left_out = len(learning.added_tokens) - len(shown)
    rows: list[list[Inline]] = [
        [
            f"{token.id:,}",
            exact(token.text),
            "special" if token.special else "always",
            " ".join(name for name, flag in (("left", token.lstrip), ("right", token.rstrip)) if flag),
        ]
        for token in shown
    ]
    columns = [Column("id", is_number=True), Column("added token"), Column("matched"), Column("strips")]
    return Table(columns, rows, f"{left_out:,} more, shown with -v" if left_out else "")


def _tabulate_examples(learning: Learning) -> Table:
    rows: list[list[Inline]] = [
        [exact(example.text), _format_ids(example.expected), _format_ids(example.actual)]
        for example in learning.examples
    ]
    return Table([Column("encoded differently"), Column("reference"), Column("learned")], rows)


def _format_ids(ids: tuple[int, ...] | None) -> str:
    """Write ids, or that there are none."""
    return "cannot be encoded" if ids is None else " ".join(map(str, ids))


def to_ci_report(learning: Learning) -> CiReport:
    """Return what CI systems show of a learned tokenizer."""
    return CiReport(
        issues=_issues(learning),
        checks=(_DIFFERENCE, _HIDDEN),
        properties={"reference": learning.reference.source, "learned": learning.target},
    )


def _issues(learning: Learning) -> Iterator[Issue]:
    for example in learning.examples:
        lines = [
            f"text: {visible(example.text)}",
            f"reference: {_format_ids(example.expected)}",
            f"learned: {_format_ids(example.actual)}",
        ]
        yield issue_of(_DIFFERENCE, lines, path=learning.target, key=f"{learning.target}\0{example.text}")
    for line in learning.hidden:
        yield issue_of(_HIDDEN, [visible_message(line)], path=learning.target, key=f"{learning.target}\0{line}")
