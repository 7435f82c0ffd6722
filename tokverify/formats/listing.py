"""Lists for a person: of tokens, and of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tokverify.formats.layout import DIM, draw, exact, exact_or_folded, table, words
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokverify.cases import Case
    from tokverify.formats import RenderOptions
    from tokverify.tokenizer import Token


def list_tokens(tokens: Sequence[Token], options: RenderOptions) -> str:
    """List tokens one a line, and then their ids, ready to be copied."""
    shown = table(("id", "right"), ("piece", "left"), ("stands for", "left"))
    for token in tokens:
        piece = exact(token.piece) if token.piece else Text("(no piece)", DIM)
        shown.add_row(str(token.id), piece, exact(token.token_bytes))
    total = Text(plural(len(tokens), "token"), "bold")
    ids = Text(str([token.id for token in tokens]), overflow="fold")
    return draw([shown, ids, total] if tokens else [total], options)


def list_cases(cases: Sequence[Case], options: RenderOptions) -> str:
    """List cases one a line."""
    shown = table(("case", "left"), ("tags", "left"), ("text", "left"))
    for case in cases:
        text = exact_or_folded(case.text, fold=not options.verbose)
        shown.add_row(words(f"{case.suite}/{case.id}"), words(" ".join(case.tags), DIM), text)
    suites = len({case.suite for case in cases})
    total = Text(f"{plural(len(cases), 'case')} in {plural(suites, 'suite')}", "bold")
    return draw([shown, total], options)
