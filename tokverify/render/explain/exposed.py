"""Draw what a tokenizer that is not a file exposes about how one text becomes tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tokverify.render.alignment import alignment_table
from tokverify.render.explain.part import add_rows, indent, join, title
from tokverify.render.layout import DIM, Columns, draw, exact, exact_or_folded, labeled, words
from tokverify.render.options import RenderOptions
from tokverify.report.explain import ExposedExplanation
from tokverify.text.wording import encode_options, plural
from tokverify.tokenizer import Token

_MAX_ROWS = 40


def render(explained: ExposedExplanation, options: RenderOptions) -> str:
    """Draw an explanation; `options.verbose` leaves nothing out."""
    return draw(_sections(explained, full=options.verbose), options)


def _sections(explained: ExposedExplanation, *, full: bool) -> Iterator[RenderableType]:
    asked = encode_options(add_special=explained.add_special, parse_special=explained.parse_special)
    lines = [
        ("text", exact_or_folded(explained.text, fold=not full)),
        ("tokenizer", words(f"{explained.name}, {explained.source}")),
        ("options", Text(asked)),
    ]
    yield labeled(lines)
    yield _added_tokens(explained)
    yield from _stretches(explained, full=full)
    yield _result(explained, full=full)
    if explained.reference is not None:
        yield _reference(explained, full=full)


def _added_tokens(explained: ExposedExplanation) -> RenderableType:
    if explained.matches is None:
        return title(1, "added tokens", words(f"not shown: {explained.hidden}", DIM))
    pieces = [exact(match.piece, "bold") for match in explained.matches]
    summary = Text(plural(len(pieces), "match", "matches") + (": " if pieces else ""))
    return title(1, "added tokens", summary + Text(" ").join(pieces))


def _stretches(explained: ExposedExplanation, *, full: bool) -> Iterator[RenderableType]:
    if explained.stretches is None:
        for number, name in ((2, "normalization"), (3, "pre-tokens")):
            yield title(number, name, words(f"not shown: {explained.hidden}", DIM))
        return
    normalized = [each.normalized for each in explained.stretches]
    yield Group(title(2, "normalization", "the text after it"), indent(_join(normalized, full=full)))
    pre_tokens = [part for each in explained.stretches for part in each.pre_tokens or ()]
    if all(each.pre_tokens is None for each in explained.stretches):
        yield title(3, "pre-tokens", "the tokenizer has no such stage")
    else:
        yield Group(title(3, "pre-tokens", f"{len(pre_tokens):,}"), indent(_join(pre_tokens, full=full)))


def _join(parts: Sequence[str], *, full: bool) -> Text:
    return join(list(map(exact, parts)), "parts", None if full else _MAX_ROWS, Text(" | ", DIM))


def _result(explained: ExposedExplanation, *, full: bool) -> RenderableType:
    drawn = Columns(("id", "right"), ("piece", "left"), ("stands for", "left"))
    add_rows(drawn, explained.tokens, "tokens", None if full else _MAX_ROWS, _draw_token)
    ids = Text(str([token.id for token in explained.tokens]), overflow="fold")
    return Group(title(4, "result", plural(len(explained.tokens), "token")), indent(drawn), indent(ids))


def _draw_token(token: Token) -> list[Text]:
    return [Text(str(token.id)), exact(token.piece), exact(token.token_bytes)]


def _reference(explained: ExposedExplanation, *, full: bool) -> RenderableType:
    name = words(explained.reference or "")
    if explained.difference is None:
        return title(5, "reference", Text.assemble(name, " returns the same ids", style="green"))
    summary = Text.assemble(name, " returns different ids", style="red")
    drawn = alignment_table(explained.difference, "expected", fold=not full)
    return Group(title(5, "reference", summary), indent(drawn))
