"""Draw lists of tokens and of cases."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tokverify.case import Case
from tokverify.render.layout import DIM, GAP, Columns, draw, exact, exact_or_folded, labeled, words
from tokverify.render.options import RenderOptions
from tokverify.text.wording import plural
from tokverify.tokenizer import Token

Row = tuple[Text, Text, Text]
"""The name, the tags and the text of a case."""

_INDENT = 2


def list_tokens(tokens: Sequence[Token], options: RenderOptions) -> str:
    """List tokens one per line, followed by their ids, ready to be copied."""
    shown = Columns(("id", "right"), ("piece", "left"), ("stands for", "left"))
    for token in tokens:
        shown.add_row(str(token.id), exact(token.piece, empty="(no piece)"), exact(token.token_bytes))
    total = Text(plural(len(tokens), "token"), "bold")
    ids = Text(str([token.id for token in tokens]), overflow="fold")
    return draw([shown, ids, total] if tokens else [total], options)


def list_cases(cases: Sequence[Case], options: RenderOptions) -> str:
    """List cases one per line; if that would break their names, list each text below its name."""
    rows = [
        (
            words(case.name),
            words(" ".join(case.tags), DIM),
            exact_or_folded(case.text, fold=not options.verbose),
        )
        for case in cases
    ]
    suites = len({case.suite for case in cases})
    total = Text(f"{plural(len(cases), 'case')} in {plural(suites, 'suite')}", "bold")
    return draw([_beside(rows) if options.width >= _least_width(rows) else _below(rows), total], options)


def _least_width(rows: Sequence[Row]) -> int:
    """Return the width above which neither names nor tags are broken; texts may be."""
    names = max(name.cell_len for name, _, _ in rows)
    tags = max(Text(tag).cell_len for _, tags, _ in rows for tag in tags.plain.split(" "))
    # The widest column shrinks first, so a text gets at least as much room as a name.
    return names + GAP + tags + GAP + min(names, max(text.cell_len for _, _, text in rows))


def _beside(rows: Sequence[Row]) -> RenderableType:
    shown = Columns(("case", "left"), ("tags", "left"), ("text", "left"))
    for row in rows:
        shown.add_row(*row)
    return shown


def _below(rows: Sequence[Row]) -> RenderableType:
    parts: list[RenderableType] = []
    for name, tags, text in rows:
        parts += [labeled([(name.plain, tags)]), Padding(text, (0, 0, 0, _INDENT))]
    return Group(*parts)
