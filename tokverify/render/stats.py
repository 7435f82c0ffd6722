"""Describe measured tokenizers: for people, as issues for CI systems, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len

from tokverify.render.document import (
    Bullets,
    Column,
    Details,
    Document,
    Fields,
    Heading,
    Inline,
    Line,
    Only,
    Paragraph,
    Section,
    Span,
    Style,
    Table,
    code,
    message,
    plain,
    shorten,
)
from tokverify.render.issue import Check, CiReport, Level, issue_of
from tokverify.render.layout import GAP
from tokverify.render.options import RenderOptions
from tokverify.report.stats import (
    LONG_TOKEN,
    SHORT_NUMBERS,
    MeasuredTexts,
    MeasuredTokenizer,
    StatsReport,
    TokenCount,
    comparable_texts,
    stats_exit_code,
    tokens_per_byte,
)
from tokverify.text.visible import visible_message
from tokverify.text.wording import list_items, plural

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
NOTHING = "-"
_SAMPLES = "the bundled samples; those in natural languages are translations of each other"
_MAX_FILES = 10
_FAILURE = Check("stats-failure", "not encoded", "A tokenizer cannot encode a text.", Level.ERROR)


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
    failures = [f"{measured.name} cannot encode {failure}" for measured, failure in _list_failures(stats)]
    if failures:
        yield _head("Not encoded")
    yield from (Section([Paragraph(message(failure, Style.ACTUAL))]) for failure in failures)
    yield _head("How to read this")
    yield Section([Bullets([message(remark, Style.DIM) for remark in stats.remarks])])


def _head(heading: str) -> Section:
    """Begin a part of a page; the other formats tell the parts apart without that."""
    return Section([Only("html", [Heading(heading)])])


def _describe_tokenizers(stats: StatsReport, *, verbose: bool) -> Iterator[Line]:
    for measured in stats.tokenizers:
        yield visible_message(measured.name), code(measured.source, Style.STRONG)
        yield "", plural(measured.vocab_size, "token") if measured.vocab_size else "not listed"
        digests = {"fingerprint": measured.fingerprint, "sha256": measured.sha256} if verbose else {}
        for name, digest in digests.items():
            if digest:
                yield "", message(f"{name} {digest}", Style.DIM)
    yield "texts", message(list_items(stats.files, _MAX_FILES) or _SAMPLES)


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
    lines = [[column.heading for column in table.columns]]
    lines += [list(map(plain, row)) for row in table.rows]
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
                by_byte = by_byte._replace(share=count.per_byte / most if most else 0.0)
            rows.append([*sizes, *name, tokens, by_byte, *others])
    names = (Column("tokenizer"),) if several else ()
    return Table((*_SIZES, *names, *_COUNTS), rows)


def _list_sizes(texts: MeasuredTexts) -> _Row:
    words = NOTHING if texts.words is None else f"{texts.words:,}"
    return [str(texts.kind), message(texts.name), f"{texts.bytes:,}", f"{texts.characters:,}", words]


def _list_counts(count: TokenCount, style: Style) -> list[Span]:
    # A text that is unknown as a whole is one token, which looks like a good result.
    return [Span(cell, style if count.unknown else Style.PLAIN) for cell in _format_count(count)]


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
    measurements = _format_measurements(tokenizers, verbose=verbose)
    return Table((Column(""), *columns), [[message(name), *map(message, values)] for name, values in measurements])


def _tabulate_longest(tokenizers: Sequence[MeasuredTokenizer]) -> Table:
    rows: list[_Row] = []
    for measured in tokenizers:
        name = measured.name
        lists = {"all": measured.longest, "used": measured.longest_used, "unused": measured.unused_examples}
        for list_name, tokens in lists.items():
            for index, token in enumerate(tokens):
                characters = len(token.token_bytes.decode("utf-8", "replace"))
                about: _Row = [message(name), "" if index else list_name]
                rows.append([*about, str(token.id), f"{characters:,}", shorten(token.token_bytes)])
                name = ""
    columns = (
        Column("tokenizer"),
        Column("longest"),
        Column("id", is_number=True),
        Column("characters", is_number=True),
        Column("token"),
    )
    return Table(columns, rows)


def _format_count(count: TokenCount) -> list[str]:
    """Return the number of tokens, and the rates per byte, character and word."""
    tokens = NOTHING if count.tokens is None else f"{count.tokens:,}"
    unknown = f" ({count.unknown:,} unknown)" if count.unknown else ""
    rates = (count.per_byte, count.per_character, count.per_word)
    return [f"{tokens}{unknown}", *(NOTHING if rate is None else f"{rate:.3f}" for rate in rates)]


def _format_measurements(
    tokenizers: Sequence[MeasuredTokenizer], *, verbose: bool = False
) -> list[tuple[str, list[str]]]:
    """Return the results of the probes: what was measured, and the value for each tokenizer.

    With `verbose`, each language and each indentation is included. An indented name is a detail of the one above.
    """
    columns = [_format_tokenizer(measured, verbose) for measured in tokenizers]
    names: dict[str, None] = {}
    for column in columns:
        names |= dict.fromkeys(column)
    return [(name, [column.get(name, NOTHING) for column in columns]) for name in names]


def _format_tokenizer(measured: MeasuredTokenizer, verbose: bool) -> Mapping[str, str]:
    probe = measured.probe
    values = {
        f"numbers below {len(SHORT_NUMBERS):,} that are a single token": _share(
            probe.single_numbers, len(SHORT_NUMBERS)
        ),
        "tokens per number from 1,000 to 999,999": _mean(probe.tokens_per_long_number),
        "spaces of indentation per token": _mean(probe.spaces_per_token),
    }
    if verbose:
        widths = (probe.indentation or {}).items()
        values |= {f"  tokens for {plural(width, 'space')}": f"{count:,}" for width, count in widths}
    trailing = {True: "yes", False: "no", None: NOTHING}[probe.trailing_space]
    values["a space at the end of a prompt becomes a separate token"] = trailing
    ratios = probe.against_english or {}
    of_how_many = f" ({len(ratios)} of {probe.languages} languages)" if 0 < len(ratios) < probe.languages else ""
    values["tokens compared with the same text in English"] = f"{_mean(probe.mean_against_english)}{of_how_many}"
    most = max(ratios, key=ratios.__getitem__, default=None)
    if verbose:
        values |= {f"  {language}": _mean(ratio) for language, ratio in ratios.items()}
    else:
        values["  maximum"] = NOTHING if most is None else f"{most} {ratios[most]:.2f}"
    values[f"tokens of more than {LONG_TOKEN} characters"] = _share(measured.long_tokens, measured.ordinary)
    if measured.unused is not None:
        values["unused tokens"] = _share(measured.unused, measured.ordinary)
    return values


def _share(part: int | None, whole: int) -> str:
    return NOTHING if part is None else f"{part:,} ({part / max(whole, 1):.1%})"


def _mean(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _list_failures(stats: StatsReport) -> Iterator[tuple[MeasuredTokenizer, str]]:
    """Yield the tokenizers that could not encode a text, and which text and why."""
    for measured in stats.tokenizers:
        yield from ((measured, failure) for failure in measured.failures)


def to_ci_report(stats: StatsReport) -> CiReport:
    """Return what CI systems show of statistics."""
    return CiReport(
        issues=(
            issue_of(
                _FAILURE,
                [visible_message(f"{measured.name} cannot encode {failure}")],
                path=measured.source,
                key=f"{measured.name}\0{failure}",
            )
            for measured, failure in _list_failures(stats)
        ),
        checks=(_FAILURE,),
    )


def verdict(stats: StatsReport) -> str:
    """Summarize, such as `18 texts, 10,374 bytes: 0.476 tokens per byte with gpt-2, 0.269 with gemma-3`."""
    texts = comparable_texts(stats)
    size = sum(text.bytes for text in texts)
    parts = [
        f"{plural(len(texts), 'text')}, {plural(size, 'byte')}:"
        f" {', '.join(_describe_rates(stats)) or 'no text that all tokenizers can encode'}"
    ]
    parts += [
        f"{measured.name} cannot encode {plural(len(measured.failures), 'text')}"
        for measured in stats.tokenizers
        if measured.failures
    ]
    return "; ".join(parts)


def _describe_rates(stats: StatsReport) -> list[str]:
    rates = []
    for index, measured in enumerate(stats.tokenizers):
        rate = tokens_per_byte(stats, index)
        if rate is not None:
            rates.append(f"{rate:.3f} {'' if index else 'tokens per byte '}with {measured.name}")
    return rates
