"""Draw an explanation of decoding: each id, what it represents, the merges behind it, and what it adds to the text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tokverify.render.explain.part import add_rows, indent, title
from tokverify.render.layout import DIM, Columns, draw, exact, exact_or_folded, labeled, words
from tokverify.render.options import RenderOptions
from tokverify.report.explain import DecodedToken, DecodingExplanation, TokenMerge
from tokverify.text.wording import plural
from tokverify.tokenizer import Token

_MAX_ROWS = 40


def render(explained: DecodingExplanation, options: RenderOptions) -> str:
    """Draw an explanation; `options.verbose` leaves nothing out."""
    return draw(_sections(explained, full=options.verbose), options)


def _sections(explained: DecodingExplanation, *, full: bool) -> Iterator[RenderableType]:
    ids = Text(str(list(explained.ids)), overflow="fold")
    lines = [("ids", ids), ("model", words(f"{explained.name}, {explained.algorithm}"))]
    if explained.stopped_at is not None:
        lines.append(("stopped", Text(f"at index {explained.stopped_at:,}, by a token that ends a generation")))
    yield labeled(lines)
    yield Group(title(1, "tokens", plural(len(explained.tokens), "token")), indent(_draw_tokens(explained, full)))
    yield from _draw_merges(explained.tokens, full)
    yield _result(explained, full)


def _draw_tokens(explained: DecodingExplanation, full: bool) -> RenderableType:
    columns = ("piece", "type", "represents", "bytes", "how", "adds", "")
    drawn = Columns(("id", "right"), *((column, "left") for column in columns))
    add_rows(drawn, explained.tokens, "tokens", None if full else _MAX_ROWS, _draw_token)
    return drawn


def _draw_token(decoded: DecodedToken) -> list[Text]:
    token = decoded.token
    return [
        Text(str(token.id)),
        exact(token.piece, empty="(no piece)"),
        Text(decoded.type.replace("|", " and ")),
        exact(token.token_bytes),
        Text(token.token_bytes.hex(" ").upper(), overflow="fold"),
        Text(decoded.rule, DIM),
        exact(decoded.added, "bold"),
        Text(decoded.note, DIM),
    ]


def _draw_merges(tokens: Sequence[DecodedToken], full: bool) -> Iterator[RenderableType]:
    """Show each merge once, from the tokens down to single bytes."""
    merges = {merge.id: merge for decoded in tokens for merge in decoded.merges}
    if not merges:
        return
    drawn = Columns(("id", "right"), ("=", "left"), ("bytes", "left"))
    add_rows(drawn, list(merges.values()), "merges", None if full else _MAX_ROWS, _draw_merge)
    summary = "each token that a merge builds represents the bytes of two others, down to single bytes"
    yield Group(title(2, "merges", summary), indent(drawn))


def _draw_merge(merge: TokenMerge) -> list[Text]:
    parts = Text.assemble(_draw_part(merge.left), (" + ", DIM), _draw_part(merge.right), overflow="fold")
    return [Text(str(merge.id)), parts, exact(merge.token_bytes, "bold")]


def _draw_part(token: Token) -> Text:
    return Text.assemble(str(token.id), " ", exact(token.token_bytes, DIM))


def _result(explained: DecodingExplanation, full: bool) -> RenderableType:
    text = exact_or_folded(explained.decoded, fold=not full)
    parts: list[RenderableType] = [title(3, "result", plural(len(explained.decoded), "byte")), indent(text)]
    if explained.cleaned_up is not None:
        lead = Text("llama_detokenize also removes spaces before punctuation; its text is:", DIM, overflow="fold")
        parts += [indent(lead), indent(exact_or_folded(explained.cleaned_up, fold=not full))]
    return Group(*parts)
