"""Draw an explanation for a person: how a text becomes tokens, stage by stage, and where a reference diverges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text

from tokverify.render.alignment import Fold, alignment_table
from tokverify.render.explain.model import legends, model_sections
from tokverify.render.explain.part import add_rows, fold_middle, indent, join, join_pieces, note, title
from tokverify.render.layout import ACTUAL, DIM, EXPECTED, Columns, draw, exact, exact_or_folded, labeled, words
from tokverify.render.options import RenderOptions
from tokverify.report.explain import (
    AddedTokenMatch,
    CharsmapSearch,
    CharsmapStep,
    ExplainedToken,
    Explanation,
    Fragment,
    PatternMatch,
    PreToken,
    StageComparison,
    StageDivergence,
    StageOutcome,
    Stretch,
    list_stretches,
)
from tokverify.text.sequence import group_values
from tokverify.text.utf8 import to_bytes
from tokverify.text.visible import code_points, visible
from tokverify.text.wording import encode_options, plural
from tokverify.tokenizer import Token

_MAX_ROWS = 40
_MAX_PARTS = 60
_MAX_CODE_POINTS = 4
_MAX_PLACES = 4
_MAX_PRE_TOKENS = 8
_SOURCES = {"added": "added token", "byte": "one byte", "unknown": "unknown", "special": "add_special", "model": ""}
_MAX_SEARCHES = 24
_MAX_STARTS = 4
_LEGEND = (
    "the charsmap is an array: the node of a byte is the base before it, XOR the byte; a node with another label ends"
    " the search; a string of the map ends at a leaf, and the longest one is replaced; the root is the base for the"
    " first byte"
)


def render(explained: Explanation, options: RenderOptions, *, steps: bool = False) -> str:
    """Draw an explanation; `options.verbose` leaves nothing out, and `steps` adds the single steps."""
    return draw(_sections(explained, full=options.verbose, steps=steps), options)


def _sections(explained: Explanation, *, full: bool, steps: bool) -> Iterator[RenderableType]:
    yield _heading(explained, full)
    yield _added_tokens(explained, full)
    yield _normalization(explained, full)
    if steps:
        yield from _draw_searches(list_stretches(explained), full=full)
    yield _pre_tokens(explained, full)
    yield Group(title(4, "model", f"{explained.algorithm} {explained.method}"), *map(indent, legends(explained)))
    yield from model_sections(explained, full=full, steps=steps)
    yield _special_tokens(explained)
    yield _result(explained, full, steps)
    if explained.reference:
        yield _reference_section(explained.reference, full=full)


def _heading(explained: Explanation, full: bool) -> RenderableType:
    size = f"{plural(len(explained.text), 'character')}, {plural(len(to_bytes(explained.text)), 'byte')}"
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
        return title(1, "added tokens", "the model has none")
    searched = plural(explained.added_tokens, "token")
    matches = [fragment.added_token for fragment in explained.fragments if fragment.added_token]
    if not matches:
        return title(1, "added tokens", f"no match ({searched} searched for)")
    summary = f"{plural(len(matches), 'match', 'matches')} ({searched} searched for), split off before all other stages"
    drawn = Columns(("id", "right"), ("token", "left"), ("type", "left"), ("bytes", "left"))
    ordered = sorted(matches, key=lambda match: (match.id, match.span))
    for same in group_values((match.id, match) for match in ordered).values():
        drawn.add_row(*_draw_matches(same))
    notes = [*_note_missing({match.id: match for match in matches}.values()), *_note_without(explained, full)]
    fragments = _join([_draw_fragment(fragment) for fragment in explained.fragments], full)
    return Group(title(1, "added tokens", summary), indent(fragments), indent(drawn), *map(indent, notes))


def _draw_fragment(fragment: Fragment) -> Text:
    if fragment.added_token:
        return Text.assemble("[", exact(fragment.added_token.piece, "bold"), "]")
    return exact_or_folded(fragment.stretch.text if fragment.stretch else "", fold=True)


def _join(parts: Sequence[Text], full: bool) -> Text:
    separated = join(parts, "parts", None if full else _MAX_PARTS, Text(" | ", DIM))
    separated.overflow = "fold"
    return separated


def _draw_matches(matches: Sequence[AddedTokenMatch]) -> list[Text]:
    first = matches[0]
    places = [f"{match.span[0]}-{match.span[1]}" for match in matches[:_MAX_PLACES]]
    more = [f"{len(matches) - len(places):,} more"] if len(matches) > len(places) else []
    type = first.type.replace("|", " and ")
    return [Text(str(first.id)), exact(first.piece, "bold"), Text(type), Text(", ".join([*places, *more]))]


def _note_missing(matches: Iterable[AddedTokenMatch]) -> list[Text]:
    """Name the tokens that the model could never produce by itself."""
    missing = [(match.piece, match.missing_piece) for match in matches if match.missing_piece is not None]
    lines = [
        Text.assemble(
            ("The model alone could never produce ", DIM), exact(piece, "bold"),
            (": it would need the piece ", DIM), exact(needed, "bold"), (", which does not exist.", DIM),
            overflow="fold",
        )
        for piece, needed in missing[:_MAX_PLACES]
    ]  # fmt: skip
    left_out = len(missing) - len(lines)
    return [*lines, Text(f"The same is true of {left_out:,} more.", DIM)] if left_out else lines


def _note_without(explained: Explanation, full: bool) -> Iterator[Text]:
    """Show the tokens without USER_DEFINED tokens being matched, if any was."""
    tokens = explained.without_user_defined
    if tokens is None:
        return
    ids = [token.id for token in tokens]
    own = [token.token.id for token in explained.tokens if token.source != "special"]
    if ids == own:
        yield Text("Without matching USER_DEFINED tokens, the result would be the same.", DIM)
        return
    parts = join([exact(token.piece) for token in tokens], "tokens", None if full else _MAX_PARTS, Text(" "))
    difference = "too, but different ones" if len(ids) == len(own) else f"instead of {len(own):,}"
    count = Text(f"  ({plural(len(ids), 'token')} {difference})", DIM)
    label = "Without matching USER_DEFINED tokens: "
    yield Text.assemble((label, DIM), parts, count, overflow="fold")


def _normalization(explained: Explanation, full: bool) -> RenderableType:
    stretches = list_stretches(explained)
    changes = Counter((change.before, change.after) for stretch in stretches for change in stretch.changes)
    if not changes:
        return title(2, "normalization", "changes nothing")
    drawn = Columns(("", "left"), ("", "left"), ("", "right"), ("", "left"))
    add_rows(drawn, changes.most_common(), "changes", None if full else _MAX_ROWS, _draw_change, indent=0)
    normalized = [exact_or_folded(stretch.normalized, fold=True) for stretch in stretches if stretch.changes]
    summary = plural(sum(changes.values()), "change")
    return Group(title(2, "normalization", summary), indent(drawn), indent(_join(normalized, full)))


def _draw_change(counted: tuple[tuple[str, str], int]) -> list[RenderableType]:
    (before, after), count = counted
    new = Text.assemble("→ ", exact(after, "bold", empty="(dropped)"), overflow="fold")
    return [exact(before, empty="(inserted)"), new, f"× {count:,}", _name_change(before, after)]


def _name_change(before: str, after: str) -> Text:
    old, new = _name_characters(before), _name_characters(after)
    return Text(f"{old} → {new}" if old and new else old or new, DIM, overflow="fold")


def _name_characters(text: str) -> str:
    names = code_points(text[:_MAX_CODE_POINTS])
    more = [f"{len(text) - len(names):,} more"] if len(text) > len(names) else []
    return ", ".join([*names, *more])


def _pre_tokens(explained: Explanation, full: bool) -> RenderableType:
    pre_tokens = [pre_token for stretch in list_stretches(explained) for pre_token in stretch.pre_tokens]
    if explained.pre is None and not pre_tokens:
        reason = f"none, because {explained.algorithm} has no pre-tokenizer"
        return title(3, "pre-tokens", f"{reason}; below, the text is split where no piece can cross")
    parts = indent(_join([exact(pre_token.text) for pre_token in pre_tokens], full))
    if explained.pre is None:
        count = f"{plural(len(pre_tokens), 'word')}, split at spaces and around punctuation"
        return Group(title(3, "pre-tokens", count), parts)
    if not pre_tokens:
        return title(3, "pre-tokens", "none")
    patterns = plural(explained.patterns, "pattern")
    summary = Text.assemble(f"{plural(len(pre_tokens), 'pre-token')}, by ", words(explained.pre), f" ({patterns})")
    return Group(title(3, "pre-tokens", summary), parts, indent(_draw_patterns(pre_tokens, full)))


def _draw_patterns(pre_tokens: Sequence[PreToken], full: bool) -> RenderableType:
    """Show which alternative of which pattern produced which pre-tokens."""
    by_match: dict[PatternMatch | None, dict[str, None]] = {}
    for pre_token in pre_tokens:
        by_match.setdefault(pre_token.made_by, {})[pre_token.text] = None
    drawn = Columns(("pattern", "right"), ("alternative", "left"), ("produced", "left"))
    for match in sorted(by_match, key=_pattern_order):
        parts = [exact(part) for part in by_match[match]]
        drawn.add_row(*_draw_pattern(match), _draw_produced(parts, len(parts) if full else _MAX_PRE_TOKENS))
    return drawn


def _pattern_order(match: PatternMatch | None) -> tuple[int, int]:
    if match is None:
        return -1, -1
    return match.pattern_index, -1 if match.alternative_index is None else match.alternative_index


def _draw_pattern(match: PatternMatch | None) -> tuple[Text, Text]:
    if match is None:
        return Text("-"), Text("matched by no pattern", DIM)
    number = Text(str(match.pattern_index + 1))
    if match.alternative_index is None:
        return number, Text("between its matches", DIM)
    # A backslash in a pattern that is escaped as usual would read as two.
    alternative = Text(visible(match.alternative).replace("\\\\", "\\"), overflow="fold")
    return number, Text.assemble((f"{match.alternative_index + 1}: ", DIM), alternative)


def _draw_produced(parts: Sequence[Text], limit: int) -> Text:
    more = [Text(f"... {len(parts) - limit:,} more ...", DIM)] if len(parts) > limit + 1 else []
    shown = parts[:limit] if more else parts
    return Text("  ").join([*shown, *more])


def _special_tokens(explained: Explanation) -> RenderableType:
    if not explained.add_special:
        return title(5, "special tokens", "none are added, because add_special is off")
    sides = ((explained.prefix, "before"), (explained.suffix, "after"))
    parts = [_draw_affix(tokens, side) for tokens, side in sides if tokens]
    return title(5, "special tokens", Text(", ").join(parts) if parts else "none, because the file asks for none")


def _draw_affix(tokens: Sequence[Token], side: str) -> Text:
    ids = ", ".join(str(token.id) for token in tokens)
    return Text.assemble(join_pieces([token.piece for token in tokens]), f" ({ids}) {side} the text")


def _result(explained: Explanation, full: bool, steps: bool) -> RenderableType:
    tokens = explained.tokens
    columns = ("piece", "stands for", *(["byte values"] if steps else []), "bytes", "")
    drawn = Columns(("id", "right"), *((column, "left") for column in columns))
    add_rows(drawn, tokens, "tokens", None if full else _MAX_ROWS, partial(_draw_token, steps=steps))
    ids = Text(str(list(explained.ids)), overflow="fold")
    return Group(title(6, "result", plural(len(tokens), "token")), *([indent(drawn), indent(ids)] if tokens else []))


def _draw_token(explained: ExplainedToken, *, steps: bool) -> list[Text]:
    token, (start, end) = explained.token, explained.span
    piece = exact(token.piece, empty="(no piece)")
    bytes = Text(f"{start}-{end}")
    values = [Text(token.token_bytes.hex(" ").upper(), overflow="fold")] if steps else []
    source = Text(_SOURCES[explained.source] or explained.category, DIM)
    return [Text(str(token.id)), piece, exact(token.token_bytes), *values, bytes, source]


def _reference_section(reference: StageDivergence, *, full: bool) -> RenderableType:
    """Compare stage by stage; where the results differ, align them."""
    if reference.first is None:
        summary = Text.assemble(words(reference.name), " returns the same ids", style="green")
    else:
        difference = f" returns different ids; the first stage that differs is: {reference.first}"
        summary = Text.assemble(words(reference.name), difference, style="red")
    parts: list[RenderableType] = [title(7, "reference", summary), indent(_draw_stages(reference))]
    parts += [indent(words(note, DIM)) for note in reference.notes]
    first = next((stage for stage in reference.stages if stage.stage == reference.first), None)
    if first is not None and (first.actual_code_points or first.expected_code_points):
        parts.append(indent(_draw_code_points("actual", first.actual_code_points)))
        parts.append(indent(_draw_code_points("expected", first.expected_code_points)))
    if reference.difference:
        parts += [Text(), indent(alignment_table(reference.difference, "expected", fold=not full))]
    return Group(*parts)


def _draw_stages(reference: StageDivergence) -> RenderableType:
    drawn = Columns(("stage", "left"), ("", "left"), ("actual", "left"), ("expected", "left"))
    for stage in reference.stages:
        drawn.add_row(*_draw_stage(stage, is_first=stage.stage == reference.first))
    return drawn


def _draw_stage(stage: StageComparison, *, is_first: bool) -> list[Text]:
    name = Text(stage.stage, "bold" if is_first else "")
    if stage.outcome is StageOutcome.HIDDEN:
        return [name, Text("?", DIM), words(stage.note, DIM)]
    if stage.outcome is StageOutcome.SAME:
        return [name, Text("=", DIM)]
    sides = zip((stage.actual, stage.expected), (ACTUAL, EXPECTED), strict=True)
    return [name, Text("≠", "bold"), *(_draw_side(pieces, style) for pieces, style in sides)]


def _draw_side(pieces: Sequence[str], style: str) -> Text:
    return Text(" | ").join(exact(piece, style) for piece in pieces) if pieces else Text("(none)", DIM)


def _draw_code_points(label: str, names: Sequence[str]) -> Text:
    return Text(f"{label} continues with {', '.join(names) or 'the end of the text'}", overflow="fold")


def _draw_searches(stretches: Sequence[Stretch], *, full: bool) -> Iterator[RenderableType]:
    """Draw the searches of each stretch in one table; nothing for models without a charsmap."""
    searches = [search for stretch in stretches for search in stretch.charsmap]
    if not searches:
        return
    columns = ("node", "label", "base")
    drawn = Columns(("at byte", "left"), ("byte", "left"), *((column, "right") for column in columns), ("", "left"))
    for item in fold_middle(searches, "searches", None if full else _MAX_SEARCHES):
        if isinstance(item, Fold):
            drawn.add_row(note(item))
        else:
            _add_search(drawn, item)
    heading = Text.assemble(("charsmap", "bold"), (f"  root {searches[0].root}: {_LEGEND}", DIM), overflow="fold")
    yield Group(indent(heading), indent(drawn))


def _add_search(drawn: Columns, search: CharsmapSearch) -> None:
    starts = [str(start) for start in search.starts[:_MAX_STARTS]]
    more = [f"{len(search.starts) - len(starts):,} more"] if len(search.starts) > len(starts) else []
    where = Text(", ".join([*starts, *more]))
    for index, step in enumerate(search.steps, start=1):
        base = Text("" if step.base is None else str(step.base))
        taken = index == search.length
        drawn.add_row(where, _draw_byte(step.byte), str(step.node), _draw_byte(step.label), base, _outcome(step, taken))
        where = Text()


def _draw_byte(byte: int) -> Text:
    return Text.assemble(f"{byte} ", exact(bytes([byte]) if byte else "", DIM))


def _outcome(step: CharsmapStep, taken: bool) -> Text:
    if step.base is None:
        return Text("another label: no such string", DIM)
    if step.replacement is None:
        return Text("no leaf", DIM)
    text = Text.assemble("leaf: ", exact(step.replacement, "bold", empty="(nothing)"))
    return text if taken else Text.assemble(text, (", but a longer string fits", DIM))
