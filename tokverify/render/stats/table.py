"""The `table` format of statistics: one tokenizer, or several side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from tokverify.render.layout import DIM, bulleted, draw, exact, labeled, table, words
from tokverify.render.stats.text import (
    counts,
    failures,
    length,
    measurements,
    remarks,
    sizes,
    texts_told,
    token_lists,
    verdict,
)
from tokverify.text.visible import visible_message
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult

    from tokverify.render import RenderOptions
    from tokverify.render.column import Columns
    from tokverify.report.stats import Measured, Row, Stats
    from tokverify.tokenizer import Token

    _Headings = tuple[tuple[str, JustifyMethod], ...]

_INDENT = 2


def render(stats: Stats, options: RenderOptions) -> str:
    """Show what was measured, of each text and then of each tokenizer; the last line is the verdict."""
    sections = [] if options.quiet else list(_sections(stats, verbose=options.verbose))
    return draw([*sections, words(verdict(stats), "bold red" if stats.exit_code else "bold green")], options)


def _sections(stats: Stats, *, verbose: bool) -> Iterator[RenderableType]:
    yield _heading(stats, verbose=verbose)
    yield _Texts(stats)
    yield _probes(stats.tokenizers, verbose=verbose)
    yield _longest(stats.tokenizers)
    yield from (words(failure, "red") for failure in failures(stats))
    yield bulleted(words(remark, DIM) for remark in remarks(stats))


def _heading(stats: Stats, *, verbose: bool) -> RenderableType:
    lines = []
    for measured in stats.tokenizers:
        lines.append((_name(measured), words(measured.source, "bold")))
        lines.append(("", Text(plural(measured.vocab_size, "token"))))
        digests = {"fingerprint": measured.fingerprint, "sha256": measured.sha256}
        lines += [("", words(f"{name} {digest}", DIM)) for name, digest in digests.items() if digest and verbose]
    return labeled([*lines, ("texts", words(texts_told(stats)))])


def _name(measured: Measured) -> str:
    """Return a name that can stand as a heading."""
    return visible_message(measured.name)


@dataclass(frozen=True, slots=True)
class _Texts:
    """What was counted, in one table; where there is no room for it, in two: of the texts, and of their tokens."""

    stats: Stats

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = _whole(self.stats)
        if whole.width(console, options) <= options.max_width:
            yield whole
            return
        yield _sizes(self.stats)
        yield Text()
        yield _tokens(self.stats)


_ABOUT: _Headings = (
    ("kind", "left"),
    ("text", "left"),
    ("bytes", "right"),
    ("characters", "right"),
    ("words", "right"),
)
_COUNTED: _Headings = (("tokens", "right"), ("/byte", "right"), ("/character", "right"), ("/word", "right"))


def _whole(stats: Stats) -> Columns:
    several: _Headings = (("tokenizer", "left"),) if len(stats.tokenizers) > 1 else ()
    shown = table(*_ABOUT, *several, *_COUNTED)
    for row in stats.rows:
        for index, measured in enumerate(stats.tokenizers):
            about = _about(row) if index == 0 else [Text()] * len(_ABOUT)
            shown.add_row(*about, *([words(measured.name)] if several else []), *_counts(row, index))
    return shown


def _sizes(stats: Stats) -> Columns:
    shown = table(*_ABOUT)
    for row in stats.rows:
        shown.add_row(*_about(row))
    return shown


def _about(row: Row) -> list[Text]:
    return [Text(row.kind), words(row.name), *map(Text, sizes(row))]


def _tokens(stats: Stats) -> Columns:
    """Show the tokens of each text; those of several tokenizers below its name."""
    shown = table(("", "left"), *_COUNTED)
    for row in stats.rows:
        if len(stats.tokenizers) == 1:
            shown.add_row(words(row.name), *_counts(row, 0))
            continue
        shown.add_row(words(row.name))
        for index, measured in enumerate(stats.tokenizers):
            shown.add_row(Padding(words(measured.name), (0, 0, 0, _INDENT)), *_counts(row, index))
    return shown


def _counts(row: Row, index: int) -> list[Text]:
    # A text that is unknown as a whole is one token, which looks like a good result.
    style = "yellow" if row.unknown[index] else ""
    return [Text(cell, style) for cell in counts(row, index)]


def _probes(tokenizers: Sequence[Measured], *, verbose: bool) -> RenderableType:
    shown = table(("", "left"), *((_name(measured), "right") for measured in tokenizers))
    for what, found in measurements(tokenizers, verbose=verbose):
        shown.add_row(words(what), *map(words, found))
    return shown


def _longest(tokenizers: Sequence[Measured]) -> RenderableType:
    shown = table(
        ("tokenizer", "left"), ("longest", "left"), ("id", "right"), ("characters", "right"), ("token", "left")
    )
    for measured in tokenizers:
        name = measured.name
        for what, tokens in token_lists(measured).items():
            for index, token in enumerate(tokens):
                shown.add_row(words(name), Text("" if index else what), *_token(token))
                name = ""
    return shown


def _token(token: Token) -> list[Text]:
    return [Text(str(token.id)), Text(f"{length(token):,}"), exact(token.token_bytes)]
