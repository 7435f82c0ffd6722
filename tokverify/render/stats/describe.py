"""Describe statistics for people: the texts, the tokenizers, and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.render.column import GAP
from tokverify.render.document import (
    Bullets,
    Column,
    Details,
    Document,
    Fields,
    Heading,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    code,
    message,
    shorten,
    spans,
)
from tokverify.render.stats.text import (
    count_characters,
    describe_texts,
    format_count,
    format_measurements,
    format_sizes,
    format_vocabulary,
    list_failures,
    token_lists,
)
from tokverify.render.stats.verdict import verdict
from tokverify.report.stats import stats_exit_code
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.document import Inline
    from tokverify.render.options import RenderOptions
    from tokverify.report.stats import MeasuredTexts, MeasuredTokenizer, StatsReport, TokenCount

    _Row = list[Inline]

_SIZES = (
    Column("kind"),
    Column("text"),
    Column("bytes", is_number=True),
    Column("characters", is_number=True),
    Column("words", is_number=True),
)
_OUTCOMES = {
    0: ("Measured", "every tokenizer can encode all texts"),
    1: ("Not all measured", "a tokenizer cannot encode one of the texts"),
}
_COUNTS = tuple(Column(name, is_number=True) for name in ("tokens", "/byte", "/character", "/word"))


def describe(stats: StatsReport, options: RenderOptions) -> Document:
    """Describe statistics; with `verbose`, each language and indentation, and the digests of the tokenizers."""
    return Document(
        title=["tokverify stats: ", message(", ".join(measured.name for measured in stats.tokenizers))],
        verdict=verdict(stats),
        exit_code=stats_exit_code(stats),
        sections=_describe_sections(stats, options),
        outcome=_OUTCOMES[stats_exit_code(stats)],
        options=stats.options,
        versions=stats.versions,
    )


def _describe_sections(stats: StatsReport, options: RenderOptions) -> Iterator[Section]:
    yield Section([Fields(list(_describe_tokenizers(stats, verbose=options.verbose)))])
    yield _head("Tokens by text")
    yield from _describe_texts(stats, options.width)
    yield _head("Numbers, spaces and languages")
    yield Section([_tabulate_measurements(stats.tokenizers, verbose=options.verbose)])
    yield Section([Only("table", [_tabulate_longest(stats.tokenizers)])])
    yield _head("The longest tokens")
    for measured in stats.tokenizers:
        title = [Span("The longest tokens of "), message(measured.name)]
        yield Section([Only("markdown", [Details(title, [_tabulate_longest([measured])])])])
    failures = list_failures(stats)
    if failures:
        yield _head("Not encoded")
    yield from (Section([Paragraph(message(failure, Style.ACTUAL))]) for failure in failures)
    yield _head("How to read this")
    yield Section([Bullets([message(remark, Style.DIM) for remark in stats.remarks])])


def _head(heading: str) -> Section:
    """Begin a part of a page; the other formats tell the parts apart without that."""
    return Section([Only("html", [Heading(heading)])])


def _describe_tokenizers(stats: StatsReport, *, verbose: bool) -> Iterator[tuple[str, Inline]]:
    for measured in stats.tokenizers:
        yield visible_message(measured.name), code(measured.source, Style.STRONG)
        yield "", format_vocabulary(measured)
        digests = {"fingerprint": measured.fingerprint, "sha256": measured.sha256} if verbose else {}
        for name, digest in digests.items():
            if digest:
                yield "", message(f"{name} {digest}", Style.DIM)
    yield "texts", message(describe_texts(stats))


def _describe_texts(stats: StatsReport, width: int) -> Iterator[Section]:
    """Show sizes and counts in one table, or in two if a terminal has no room for one."""
    styled = _tabulate_texts(stats, style=Style.CAVEAT)
    yield Section([Only("markdown", [_tabulate_texts(stats, style=Style.NOTICE)])])
    if _measure_width(styled) <= width:
        yield Section([Only("table", [styled])])
    else:
        yield Section([Only("table", [Table(_SIZES, [_list_sizes(texts) for texts in stats.texts])])])
        yield Section([Only("table", [_tabulate_counts(stats)])])


def _measure_width(table: Table) -> int:
    """Return the width of a table in terminal cells."""
    from rich.cells import cell_len

    lines = [[column.heading for column in table.columns]]
    lines += [["".join(span.text for span in spans(cell)) for cell in row] for row in table.rows]
    columns = zip(*lines, strict=True)
    return sum(max(map(cell_len, column)) for column in columns) + GAP * (len(table.columns) - 1)


def _tabulate_texts(stats: StatsReport, style: Style) -> Table:
    several = len(stats.tokenizers) > 1
    most = max((count.per_byte or 0.0 for texts in stats.texts for count in texts.counts), default=0.0)
    rows: list[_Row] = []
    for texts in stats.texts:
        for index, count in enumerate(texts.counts):
            sizes = [""] * len(_SIZES) if index else _list_sizes(texts)
            name = [message(count.name)] if several else []
            tokens, by_byte, *others = _list_counts(count, style)
            if count.per_byte is not None:
                by_byte = replace(by_byte, share=count.per_byte / most if most else 0.0)
            rows.append([*sizes, *name, tokens, by_byte, *others])
    names = (Column("tokenizer"),) if several else ()
    return Table((*_SIZES, *names, *_COUNTS), rows)


def _list_sizes(texts: MeasuredTexts) -> _Row:
    return [str(texts.kind), message(texts.name), *format_sizes(texts)]


def _list_counts(count: TokenCount, style: Style) -> list[Span]:
    # A text that is unknown as a whole is one token, which looks like a good result.
    return [Span(cell, style if count.unknown else Style.PLAIN) for cell in format_count(count)]


def _tabulate_counts(stats: StatsReport) -> Table:
    """Show the tokens of each text; those of several tokenizers below its name."""
    rows: list[_Row] = []
    for texts in stats.texts:
        if len(texts.counts) == 1:
            rows.append([message(texts.name), *_list_counts(texts.counts[0], Style.CAVEAT)])
            continue
        rows.append([message(texts.name), *[""] * len(_COUNTS)])
        rows += [[message(f"  {count.name}"), *_list_counts(count, Style.CAVEAT)] for count in texts.counts]
    return Table((Column(""), *_COUNTS), rows)


def _tabulate_measurements(tokenizers: Sequence[MeasuredTokenizer], *, verbose: bool) -> Table:
    columns = [Column(visible_message(measured.name), is_number=True) for measured in tokenizers]
    measurements = format_measurements(tokenizers, verbose=verbose)
    return Table((Column(""), *columns), [[message(name), *map(message, values)] for name, values in measurements])


def _tabulate_longest(tokenizers: Sequence[MeasuredTokenizer]) -> Table:
    rows: list[_Row] = []
    for measured in tokenizers:
        name = measured.name
        for list_name, tokens in token_lists(measured).items():
            for index, token in enumerate(tokens):
                characters = f"{count_characters(token):,}"
                about: _Row = [message(name), "" if index else list_name]
                rows.append([*about, str(token.id), characters, shorten(token.token_bytes)])
                name = ""
    columns = (
        Column("tokenizer"),
        Column("longest"),
        Column("id", is_number=True),
        Column("characters", is_number=True),
        Column("token"),
    )
    return Table(columns, rows)
