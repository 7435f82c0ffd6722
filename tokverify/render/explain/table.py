"""Explain for a person: the way of a text through the pipeline, stage by stage, and where a reference's way parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.engine.trace import Match, Stretch
from tokverify.render.explain.fold import Fold, middle_out
from tokverify.render.explain.model import legends, model_sections
from tokverify.render.explain.part import indented, note, spaced, title
from tokverify.render.explain.reference import reference_section
from tokverify.render.layout import DIM, draw, exact, exact_or_folded, labeled, table, words
from tokverify.text.visible import code_points, visible
from tokverify.text.wording import encode_options, plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.engine.trace import Hit
    from tokverify.explain.explanation import ExplainedToken, Explanation
    from tokverify.render import RenderOptions

_MAX_ROWS = 40
_MAX_PARTS = 60
_MAX_CODE_POINTS = 4
_SOURCES = {"added": "added token", "byte": "one byte", "unknown": "unknown", "special": "add_special", "model": ""}


def render(explained: Explanation, options: RenderOptions) -> str:
    """Write an explanation; `options.verbose` leaves nothing out."""
    return draw(_sections(explained, full=options.verbose), options)


def _sections(explained: Explanation, *, full: bool) -> Iterator[RenderableType]:
    yield _heading(explained, full)
    yield _added_tokens(explained, full)
    yield _normalization(explained, full)
    yield _pre_tokens(explained, full)
    yield Group(title(4, "model", f"{explained.algorithm} {explained.summary}"), *map(indented, legends(explained)))
    yield from model_sections(explained, full=full)
    yield _special_tokens(explained)
    yield _result(explained, full)
    if explained.parting:
        yield reference_section(explained.parting, full=full)


def _heading(explained: Explanation, full: bool) -> RenderableType:
    size = f"{plural(len(explained.text), 'character')}, {plural(len(explained.text.encode()), 'byte')}"
    options = encode_options(add_special=explained.add_special, parse_special=explained.parse_special)
    lines = [
        ("text", exact_or_folded(explained.text, fold=not full)),
        ("", Text(size, DIM)),
        ("model", words(f"{explained.name}, {explained.algorithm}")),
        ("options", Text(options)),
    ]
    return labeled([*lines, *(("warning", words(warning, "yellow")) for warning in explained.warnings)])


def _added_tokens(explained: Explanation, full: bool) -> RenderableType:
    if not explained.added_tokens:
        return title(1, "added tokens", "none to look for")
    looked = plural(explained.added_tokens, "token")
    if not explained.matches:
        return title(1, "added tokens", f"none of {looked} looked for stands in the text")
    summary = f"{plural(len(explained.matches), 'match', 'matches')} of {looked} looked for, cut out before all else"
    parts = [_fragment(explained, fragment) for fragment in explained.trace.fragments]
    drawn = table(("id", "right"), ("token", "left"), ("type", "left"), ("bytes", "left"))
    for id, group in groupby(sorted(explained.matches, key=lambda match: (match.id, match.start)), lambda m: m.id):
        drawn.add_row(*_match(explained, id, list(group)))
    notes = [*_missing(explained), *([] if explained.unsplit is None else [_unsplit(explained, full)])]
    return Group(
        title(1, "added tokens", summary), indented(_joined(parts, full)), indented(drawn), *map(indented, notes)
    )


def _fragment(explained: Explanation, fragment: Match | Stretch) -> Text:
    if isinstance(fragment, Match):
        return Text.assemble("[", exact(explained.pieces[fragment.id], "bold"), "]")
    return exact_or_folded(fragment.text, fold=True)


def _joined(parts: Sequence[Text], full: bool) -> Text:
    shown = middle_out(parts, "parts", len(parts) if full else _MAX_PARTS)
    separated = Text(" | ", DIM).join(note(part) if isinstance(part, Fold) else part[1] for part in shown)
    separated.overflow = "fold"
    return separated


def _match(explained: Explanation, id: int, matches: Sequence[Match]) -> list[Text]:
    places = [f"{match.start}-{match.end}" for match in matches[:_MAX_CODE_POINTS]]
    more = [f"{len(matches) - len(places):,} more"] if len(matches) > len(places) else []
    type = explained.added[id].type.replace("|", " and ")
    return [Text(str(id)), exact(explained.pieces[id], "bold"), Text(type), Text(", ".join([*places, *more]))]


def _missing(explained: Explanation) -> list[Text]:
    """Say which of the tokens found the model itself could never come to."""
    missing = [(id, told.missing) for id, told in explained.added.items() if told.missing is not None]
    lines = [
        Text.assemble(
            ("The model alone could never make ", DIM), exact(explained.pieces[id], "bold"),
            (": it would look for ", DIM), exact(sought, "bold"), (", which is no piece.", DIM), overflow="fold",
        )
        for id, sought in missing[:_MAX_CODE_POINTS]
    ]  # fmt: skip
    left_out = len(missing) - len(lines)
    return [*lines, Text(f"Nor could it make {left_out:,} others of them.", DIM)] if left_out else lines


def _unsplit(explained: Explanation, full: bool) -> Text:
    tokens = explained.unsplit or ()
    ids = [token.id for token in tokens]
    own = [explained.ids[index] for index, token in enumerate(explained.tokens) if token.source != "special"]
    if ids == own:
        return Text("Were USER_DEFINED tokens not looked for, the model would give the same tokens.", DIM)
    shown = middle_out(tokens, "tokens", len(tokens) if full else _MAX_PARTS)
    parts = [note(item) if isinstance(item, Fold) else exact(item[1].piece) for item in shown]
    difference = "as well, but others" if len(ids) == len(own) else f"instead of {len(own):,}"
    count = Text(f"  ({plural(len(ids), 'token')} {difference})", DIM)
    label = "Were USER_DEFINED tokens not looked for: "
    return Text.assemble((label, DIM), Text(" ").join(parts), count, overflow="fold")


def _normalization(explained: Explanation, full: bool) -> RenderableType:
    changes = Counter((c.before, c.after) for s in explained.stretches for c in s.trace.rewriting.changes)
    if not changes:
        return title(2, "normalization", "nothing changes")
    drawn = table(("", "left"), ("", "left"), ("", "right"), ("", "left"))
    for item in middle_out(changes.most_common(), "changes", len(changes) if full else _MAX_ROWS):
        if isinstance(item, Fold):
            drawn.add_row(note(item))
        else:
            (before, after), count = item[1]
            drawn.add_row(*_change(before, after), f"× {count:,}", _change_names(before, after))
    normalized = [_normalized(stretch) for stretch in explained.stretches if stretch.trace.rewriting.changes]
    summary = plural(sum(changes.values()), "change")
    return Group(title(2, "normalization", summary), indented(drawn), indented(_joined(normalized, full)))


def _change(before: bytes, after: bytes) -> tuple[Text, Text]:
    shown = exact(before) if before else Text("(in front)", DIM)
    return shown, Text.assemble("→ ", exact(after, "bold") if after else Text("(dropped)", DIM), overflow="fold")


def _change_names(before: bytes, after: bytes) -> Text:
    old, new = (_names(data) for data in (before, after))
    return Text(f"{old} → {new}" if old and new else old or new, DIM, overflow="fold")


def _names(data: bytes) -> str:
    text = data.decode("utf-8", "surrogateescape")
    names = code_points(text[:_MAX_CODE_POINTS])
    more = [f"{len(text) - len(names):,} more"] if len(text) > len(names) else []
    return ", ".join([*names, *more])


def _normalized(stretch: Stretch) -> Text:
    return exact_or_folded(stretch.trace.rewriting.result, fold=True)


def _pre_tokens(explained: Explanation, full: bool) -> RenderableType:
    cut = [
        (stretch.trace.rewriting.result[token.start : token.end], token.hit)
        for stretch in explained.stretches
        for token in stretch.trace.pre_tokens
    ]
    if explained.pre is None and not cut:
        return title(
            3,
            "pre-tokens",
            f"none, as {explained.algorithm} has no pre-tokenizer; a word below ends where no piece could go on",
        )
    parts = indented(_joined([exact(part) for part, _ in cut], full))
    if explained.pre is None:
        counted = f"{plural(len(cut), 'word')}, cut at spaces and around punctuation"
        return Group(title(3, "pre-tokens", counted), parts)
    if not cut:
        return title(3, "pre-tokens", "none")
    patterns = plural(explained.patterns, "pattern")
    summary = Text.assemble(f"{plural(len(cut), 'pre-token')}, by ", words(explained.pre), f" ({patterns})")
    return Group(title(3, "pre-tokens", summary), parts, indented(_hits(cut, full)))


def _hits(cut: Sequence[tuple[bytes, Hit | None]], full: bool) -> RenderableType:
    """Show which alternative of which pattern made which pre-tokens."""
    by_hit: dict[Hit | None, dict[bytes, None]] = {}
    for part, hit in cut:
        by_hit.setdefault(hit, {})[part] = None
    drawn = table(("pattern", "right"), ("alternative", "left"), ("made", "left"))
    for hit in sorted(by_hit, key=_hit_order):
        parts = [exact(part) for part in by_hit[hit]]
        drawn.add_row(*_hit(hit), _made(parts, len(parts) if full else _MAX_CODE_POINTS * 2))
    return drawn


def _hit_order(hit: Hit | None) -> tuple[int, int]:
    if hit is None:
        return -1, -1
    return hit.pattern_index, -1 if hit.alternative_index is None else hit.alternative_index


def _hit(hit: Hit | None) -> tuple[Text, Text]:
    if hit is None:
        return Text("-"), Text("no pattern cuts it", DIM)
    number = Text(str(hit.pattern_index + 1))
    if hit.alternative_index is None:
        return number, Text("between its matches", DIM)
    return number, Text.assemble((f"{hit.alternative_index + 1}: ", DIM), _pattern(hit.alternative))


def _pattern(pattern: str) -> Text:
    # A backslash that stands for itself would read as two in a pattern.
    return Text(visible(pattern).replace("\\\\", "\\"), overflow="fold")


def _made(parts: Sequence[Text], most: int) -> Text:
    more = [Text(f"... {len(parts) - most:,} more ...", DIM)] if len(parts) > most + 1 else []
    shown = parts[:most] if more else parts
    return Text("  ").join([*shown, *more])


def _special_tokens(explained: Explanation) -> RenderableType:
    if not explained.add_special:
        return title(5, "special tokens", "none are put around the text, as add_special is off")
    sides = ((explained.trace.prefix, "before"), (explained.trace.suffix, "after"))
    parts = [
        Text.assemble(spaced([explained.pieces[id] for id in ids]), f" ({', '.join(map(str, ids))}) {where} the text")
        for ids, where in sides
        if ids
    ]
    return title(5, "special tokens", Text(", ").join(parts) if parts else "none, as the file asks for none")


def _result(explained: Explanation, full: bool) -> RenderableType:
    tokens = explained.tokens
    drawn = table(("id", "right"), ("piece", "left"), ("stands for", "left"), ("bytes", "left"), ("", "left"))
    for item in middle_out(tokens, "tokens", len(tokens) if full else _MAX_ROWS):
        drawn.add_row(*([Text(), note(item)] if isinstance(item, Fold) else _token(item[1])))
    ids = Text(str(explained.ids), overflow="fold")
    shown = [title(6, "result", plural(len(tokens), "token"))]
    return Group(*shown, *([indented(drawn), indented(ids)] if tokens else []))


def _token(explained: ExplainedToken) -> list[Text]:
    token = explained.token
    piece = exact(token.piece) if token.piece else Text("(no piece)", DIM)
    where = f"{explained.span[0]}-{explained.span[1]}"
    return [Text(str(token.id)), piece, exact(token.token_bytes), Text(where), Text(_SOURCES[explained.source], DIM)]
