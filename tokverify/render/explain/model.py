"""Draw the model stage of an explanation: the words of each stretch, without the uninteresting ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TypeAlias

from rich.console import Group, JustifyMethod, RenderableType
from rich.text import Text

from tokverify.render.alignment import Fold
from tokverify.render.explain.part import (
    Detail,
    WordGroup,
    add_rows,
    fold_middle,
    fold_words,
    format_weight,
    indent,
    join,
    join_pieces,
    list_alternatives,
    note,
    spread,
    word_heading,
)
from tokverify.render.layout import DIM, Columns, exact
from tokverify.report.explain import (
    Attempt,
    Candidate,
    Explanation,
    Lattice,
    LatticeEntry,
    LatticeRow,
    LatticeStep,
    Merge,
    Merging,
    Pair,
    Stretch,
)
from tokverify.text.utf8 import to_bytes
from tokverify.text.wording import plural

_FEW_WORDS = 12
_MAX_STRETCHES = 12
_MIN_WORDS = 4
_MERGES = (
    "each row merges two neighbors; preferred to: other pairs that could have been merged instead, with their {by}s"
)
_RANKS = (
    "; the reference's rank is that of the same merge in the reference, and in the last column it follows a slash (-"
    " if the reference does not list the merge)"
)
_SUMS = (
    "each row is a position in the normalized text, in bytes (▁ is three): the best last piece up to it, where that"
    " piece starts, and the best sum; preferred to: other pieces that end there, with their sums; ▸ marks the best path"
)
_UNKNOWN = "; a character that is not a piece is unknown, with a score 10 below the lowest one"
_COSTS = (
    "each row is a position in the normalized text, in bytes: the best first piece from it, where that piece ends, and"
    " the lowest cost to the end; preferred to: other pieces from there, with their costs; ▸ marks the best path"
)
_MAX_POSITIONS, _MAX_POSITIONS_FULL = 40, 10_000
_MAX_STEPS = 40
_ON_PATH = "▸"
_NO_ID = -1
_MAX_WORDS = 12
_MAX_PARTS = 20


_Drawer: TypeAlias = Callable[[Stretch, Sequence[WordGroup | Fold], Detail], RenderableType]


def legends(explained: Explanation) -> Iterator[Text]:
    """Explain how to read the tables of the model stage, if there will be any."""
    words = [word for fragment in explained.fragments if fragment.stretch for word in fragment.stretch.words]
    lattice = next((word.lattice for word in words if word.lattice), None)
    merging = next((word.merging for word in words if word.merging and word.merging.merges), None)
    if lattice:
        rows = [row for word in words if word.lattice for row in word.lattice.rows]
        unknown = _UNKNOWN if any(row.best.is_unknown for row in rows) else ""
        yield Text(_SUMS + unknown if lattice.by == "score" else _COSTS, DIM, overflow="fold")
    elif merging:
        has_ranks = explained.reference is not None and explained.reference.has_merge_ranks
        yield Text(_MERGES.format(by=merging.by) + (_RANKS if has_ranks else ""), DIM, overflow="fold")


@dataclass(frozen=True, slots=True, eq=False)
class _Section:
    stretch: Stretch
    differing: frozenset[int]
    """The indexes of the words in this stretch whose tokens the reference does not have."""

    @property
    def is_plain(self) -> bool:
        """Whether each word is one token, for the reference too."""
        return not self.differing and all(len(word.ids) == 1 for word in self.stretch.words)


def model_sections(explained: Explanation, *, full: bool, steps: bool) -> Iterator[RenderableType]:
    """Show how the words of each stretch became tokens."""
    sections = list(_list_sections(explained))
    ranks = explained.reference is not None and explained.reference.has_merge_ranks
    detail = Detail(full=full, steps=steps, reference_ranks=ranks)
    chosen = sections if full else _choose(sections)
    limit = None if full else max(_MIN_WORDS, _MAX_WORDS // max(1, len(chosen)))
    for is_chosen, group in groupby(sections, lambda section: section in chosen):
        run = list(group)
        if is_chosen:
            for section in run:
                yield from _draw_section(section, len(sections) > 1, limit, detail)
        else:
            yield indent(note(Fold(_describe_left_out(run))))


def _choose(sections: Sequence[_Section]) -> list[_Section]:
    """Choose the stretches to show: all if they are few, else those that are not plain, the differing ones first."""
    if sum(len(section.stretch.words) for section in sections) <= _FEW_WORDS or len(sections) == 1:
        return [*sections]
    interesting = [section for section in sections if not section.is_plain]
    return sorted(interesting, key=lambda section: not section.differing)[:_MAX_STRETCHES]


def _describe_left_out(sections: Sequence[_Section]) -> str:
    words = plural(sum(len(section.stretch.words) for section in sections), "word")
    kind = " of one token each" if all(section.is_plain for section in sections) else ""
    return f"{words}{kind}, in {plural(len(sections), 'stretch', 'stretches')}"


def _list_sections(explained: Explanation) -> Iterator[_Section]:
    indexes = explained.reference.differing_tokens if explained.reference else ()
    differing = {explained.tokens[index].word for index in indexes}
    first = 0
    for fragment in explained.fragments:
        stretch = fragment.stretch
        if stretch is None or not stretch.words:
            continue
        following = first + len(stretch.words)
        own = frozenset(word - first for word in differing if word is not None and first <= word < following)
        yield _Section(stretch, own)
        first = following


def _draw_section(section: _Section, has_others: bool, limit: int | None, detail: Detail) -> Iterator[RenderableType]:
    stretch = section.stretch
    items = fold_words(stretch, section.differing, limit)
    drawers = [_drawer_of(item) for item in items]
    default = next((drawer for drawer in drawers if drawer), _draw_merges)
    if has_others and default is draw_lattice:
        yield indent(Text.assemble(("stretch ", DIM), exact(stretch.text)))
    for drawer, group in groupby(items, lambda item: _drawer_of(item) or default):
        yield indent(drawer(stretch, list(group), detail))


def _drawer_of(item: WordGroup | Fold) -> _Drawer | None:
    if isinstance(item, Fold):
        return None
    word = item.words[0]
    if word.lattice:
        return draw_lattice
    return _draw_matches if word.matching else _draw_merges


_MAX_ROWS, _MAX_ROWS_FULL = 24, 1000


def _draw_matches(_stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw words: each piece taken, and the longer candidates that are not pieces."""
    return spread([note(item) if isinstance(item, Fold) else _draw_attempts_of(item, detail.full) for item in items])


def _draw_attempts_of(group: WordGroup, full: bool) -> RenderableType:
    matchings = [word.matching for word in group.words if word.matching]
    attempts = [attempt for matching in matchings for attempt in matching.attempts]
    heading = word_heading(group)
    if not any(attempt.missing for attempt in attempts) and len(attempts) == 1:
        return heading
    drawn = Columns(("takes", "left"), ("longer, but not a piece", "left"))
    limit = _MAX_ROWS_FULL if full else _MAX_ROWS
    add_rows(drawn, attempts, "pieces", limit, partial(_draw_attempt, full=full), indent=0)
    parts: list[RenderableType] = [heading, indent(drawn, 2)]
    if not all(matching.complete for matching in matchings):
        reason = Text("a position where no piece fits makes the whole word unknown", DIM)
        parts.append(indent(reason, 2))
    return Group(*parts)


def _draw_attempt(attempt: Attempt, *, full: bool) -> list[Text]:
    found = Text("(nothing)", DIM) if attempt.found is None else exact(attempt.found, "bold")
    return [found, list_alternatives(list(map(exact, attempt.missing)), attempt.missing_left_out, full=full)]


def draw_lattice(stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw the decision at each position of some words in one table, and then the path through it."""
    full = detail.full
    lattices = [word.lattice for word in stretch.words if word.lattice]
    by_score = lattices[0].by == "score"
    drawn = _start_table(by_score)
    if by_score:
        drawn.add_row(Text(), Text("0"), Text("(start)", DIM), Text(), Text(), Text(), Text("0"))
    for item in items:
        if isinstance(item, Fold):
            drawn.add_row(Text(), Text(), note(item))
            continue
        own = [word.lattice for word in item.words if word.lattice]
        rows = [row for lattice in own for row in lattice.rows]
        limit = _MAX_POSITIONS_FULL if full else _MAX_POSITIONS
        add_rows(drawn, rows, "positions", limit, partial(_draw_position, by_score=by_score, full=full), indent=2)
    path = [row.best for lattice in lattices for row in lattice.rows if row.on_path]
    steps = _draw_steps(stretch, items) if detail.steps and by_score else []
    return Group(drawn, Text(), _draw_path(path, by_score, full), *steps)


def _start_table(by_score: bool) -> Columns:
    if by_score:
        columns = ("", "to", "best piece", "id", "from", "score", "sum", "preferred to")
    else:
        columns = ("", "from", "best piece", "id", "to", "cost", "cost to the end", "preferred to")
    left = {"", "best piece", "preferred to"}
    return Columns(*((column, "left" if column in left else "right") for column in columns))


def _draw_position(row: LatticeRow, *, by_score: bool, full: bool) -> list[RenderableType]:
    best, style = row.best, "bold" if row.on_path else ""
    far, near = best.span if by_score else reversed(best.span)
    return [
        Text(_ON_PATH if row.on_path else "", style),
        Text(str(near), style),
        _draw_piece(best, style),
        Text("" if best.id == _NO_ID else str(best.id), style),
        str(far),
        format_weight(best.weight),
        format_weight(best.total),
        _draw_competitors(row, by_score, full),
    ]


def _draw_piece(candidate: Candidate, style: str) -> Text:
    if candidate.is_unknown:
        return Text.assemble(exact(candidate.piece, style), (" (unknown)", DIM), overflow="fold")
    return exact(candidate.piece, style)


def _draw_competitors(row: LatticeRow, by_score: bool, full: bool) -> Text:
    parts = [_draw_competitor(competitor, by_score) for competitor in row.competitors]
    return list_alternatives(parts, row.competitors_left_out, full=full)


def _draw_competitor(competitor: Candidate, by_score: bool) -> Text:
    start, end = competitor.span
    position = f" from {start} " if by_score else f" to {end} "
    return Text.assemble(_draw_piece(competitor, ""), (f"{position}{format_weight(competitor.total)}", DIM))


def _draw_path(path: Sequence[Candidate], by_score: bool, full: bool) -> Text:
    """Show the pieces in the order in which they are found: from the end for scores, from the start for costs."""
    steps = sorted(path, key=lambda step: step.span[0], reverse=by_score)
    label, arrow = ("path from the end: ", " ← ") if by_score else ("path from the start: ", " → ")
    pieces = [Text.assemble(exact(step.piece, "bold"), (f" {step.span[0]}-{step.span[1]}", DIM)) for step in steps]
    drawn = join(pieces, "steps", None if full else _MAX_STEPS, Text(arrow))
    return Text.assemble((label, DIM), drawn, overflow="fold")


_LEGEND = (
    "step by step: from each position, every piece that fits is tried; it becomes the entry at its end if its sum is "
    "greater than the sum there"
)


def _draw_steps(stretch: Stretch, items: Sequence[WordGroup | Fold]) -> Iterator[RenderableType]:
    """Draw the initial state, and each step of some words of a stretch."""
    lattices = [word.lattice for word in stretch.words if word.lattice]
    yield Text()
    yield Text(_LEGEND, DIM, overflow="fold")
    yield Text()
    if lattices[0].initial:
        yield _draw_initial(lattices[0].initial, len(to_bytes(stretch.normalized)))
    reached = _entries_before(stretch)
    for item in items:
        if isinstance(item, Fold):
            yield note(item)
            continue
        for word in item.words:
            if word.lattice:
                yield from _draw_lattice(word.lattice, reached[word.span])


def _entries_before(stretch: Stretch) -> dict[tuple[int, int], list[LatticeEntry]]:
    """Return the entries that are final before each word of a stretch, by the span of the word."""
    entries: list[LatticeEntry] = []
    found: dict[tuple[int, int], list[LatticeEntry]] = {}
    for word in stretch.words:
        found[word.span] = list(entries)
        rows = word.lattice.rows if word.lattice else ()
        entries += [LatticeEntry(row.best.span[1], row.best.id, row.best.span[0], row.best.total) for row in rows]
    return found


def _draw_initial(initial: LatticeEntry, size: int) -> Text:
    return Text(
        f"initially  {size + 1:,} entries, 0 to {size:,}: each has the id {initial.id} (unknown), starts at 0 and has"
        f" the lowest sum, {initial.total:.6g} (-FLT_MAX in older llama.cpp); the sum of entry 0 is 0",
        overflow="fold",
    )


def _draw_lattice(lattice: Lattice, before: Sequence[LatticeEntry]) -> Iterator[RenderableType]:
    if not lattice.steps:
        yield Text("... a word that is too long to show its steps ...", DIM)
    for step in lattice.steps:
        yield Text.assemble("from ", (str(step.start), "bold"))
        yield indent(_draw_trials(step))
        yield indent(_draw_entries([*before, *step.entries]))


def _draw_trials(step: LatticeStep) -> RenderableType:
    numbers = ("id", "to", "score", "sum")
    drawn = Columns(("piece", "left"), *((column, "right") for column in numbers), ("", "left"))
    for trial in step.trials:
        weight, total = format_weight(trial.weight), format_weight(trial.total)
        outcome = Text("becomes the entry", "bold") if trial.is_best else Text("not greater", DIM)
        drawn.add_row(exact(trial.piece), str(trial.id), str(trial.end), weight, total, outcome)
    return drawn


def _draw_entries(entries: Sequence[LatticeEntry]) -> Text:
    """List the entries as `end: id from start sum`."""
    parts = [
        Text.assemble((f"{entry.end}:", "bold"), f" {entry.id} from {entry.start} {format_weight(entry.total)}")
        for entry in entries
    ]
    listed = Text("; ").join(parts) if parts else Text("none")
    return Text.assemble(("entries  ", DIM), listed, ("; the others are as at first", DIM), overflow="fold")


def _draw_merges(_stretch: Stretch, items: Sequence[WordGroup | Fold], detail: Detail) -> RenderableType:
    """Draw words: each merge, and the pairs it was preferred to."""
    return spread([note(item) if isinstance(item, Fold) else _draw_group(item, detail) for item in items])


def _draw_group(group: WordGroup, detail: Detail) -> RenderableType:
    reasons = dict.fromkeys(word.reason for word in group.words if word.reason is not None)
    parts = [*_draw_barriers(group), *(Text(reason, DIM) for reason in reasons), *_draw_mergings(group, detail)]
    return Group(word_heading(group), *(indent(part, 2) for part in parts))


def _draw_barriers(group: WordGroup) -> list[Text]:
    """Show between which words no merge is possible."""
    words = ["".join(word.merging.symbols) for word in group.words if word.merging]
    if len(words) <= 1:
        return []
    parts = join(list(map(exact, words)), "parts", _MAX_PARTS, Text(" | ", DIM))
    return [Text.assemble(("no merge can cross the bars: ", DIM), parts, overflow="fold")]


def _draw_mergings(group: WordGroup, detail: Detail) -> Iterator[RenderableType]:
    mergings = [word.merging for word in group.words if word.merging]
    shown = [merging for merging in mergings if merging.merges or merging.byte_fallbacks]
    for item in fold_middle(shown, "parts", None if detail.full else _MAX_WORDS):
        if isinstance(item, Fold):
            yield note(item)
        else:
            yield from _draw_merging(item, detail)


def _draw_merging(merging: Merging, detail: Detail) -> Iterator[RenderableType]:
    if merging.merges:
        yield _draw_table(merging, detail)
    for fallback in merging.byte_fallbacks:
        pieces = ["(dropped)" if piece is None else piece for piece in fallback.pieces]
        lead = (" is not a piece; byte by byte: ", DIM)
        yield Text.assemble(exact(fallback.symbol, "bold"), lead, join_pieces(pieces))


def _draw_table(merging: Merging, detail: Detail) -> RenderableType:
    has_symbols = any(merge.symbols for merge in merging.merges)
    shows_ids = detail.steps and has_symbols
    drawn = Columns(*_columns(merging, detail, has_symbols=has_symbols, shows_ids=shows_ids))
    if has_symbols:
        before = [Text(), *([Text()] if detail.reference_ranks else []), Text()]
        drawn.add_row(*before, join_pieces(merging.symbols), *_draw_ids(merging.symbol_ids, shows_ids))
    limit = _MAX_ROWS_FULL if detail.full else _MAX_ROWS
    add_rows(drawn, merging.merges, "merges", limit, partial(_draw_row, detail=detail, shows_ids=shows_ids))
    return drawn


def _columns(
    merging: Merging, detail: Detail, *, has_symbols: bool, shows_ids: bool
) -> Iterator[tuple[str, JustifyMethod]]:
    yield merging.by, "right"
    if detail.reference_ranks:
        yield "reference's rank", "right"
    yield "merges", "left"
    yield "leaves" if has_symbols else "makes", "left"
    if shows_ids:
        yield "ids", "left"
    yield "preferred to", "left"


def _draw_ids(ids: Sequence[int | None], shown: bool) -> list[Text]:
    listed = ", ".join("-" if id is None else str(id) for id in ids)
    return [Text(f"[{listed}]", overflow="fold")] if shown else []


def _draw_row(merge: Merge, *, detail: Detail, shows_ids: bool) -> list[Text]:
    pair = merge.pair
    rank = Text("-" if pair.reference_rank is None else str(pair.reference_rank))
    merged = Text.assemble(exact(pair.left), (" + ", DIM), exact(pair.right), overflow="fold")
    if merge.symbols:
        result = join_pieces(merge.symbols, bold=merge.merged_index)
    else:
        result = exact(pair.left + pair.right, "bold")
    return [
        Text(format_weight(pair.weight)),
        *([rank] if detail.reference_ranks else []),
        merged,
        result,
        *_draw_ids(merge.symbol_ids, shows_ids),
        _draw_rivals(merge, detail),
    ]


def _draw_rivals(merge: Merge, detail: Detail) -> Text:
    parts = [_draw_pair(pair, detail) for pair in merge.competitors]
    places = merge.pair.places
    first = [Text(f"itself, {places - 1:,} × further right", DIM)] if places > 1 else []
    return list_alternatives(parts, merge.competitors_left_out, full=detail.full, first=first)


def _draw_pair(pair: Pair, detail: Detail) -> Text:
    places = f" × {pair.places:,}" if pair.places > 1 else ""
    rank = "-" if pair.reference_rank is None else pair.reference_rank
    reference = f"/{rank}" if detail.reference_ranks else ""
    return Text.assemble(exact(pair.left + pair.right), (f" {format_weight(pair.weight)}{places}{reference}", DIM))
