"""Show how two texts differ: the aligned lines of both, with the differences within a line marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len

from tokverify.render.alignment import Fold, fold_equal
from tokverify.render.case_text import shortened
from tokverify.report.chat import TextDifference
from tokverify.text.sequence import split_lines
from tokverify.text.wording import plural

ACTUAL, EXPECTED, BOTH = "-", "+", "="
_LAST_LINES = 40
# With folding and without. A template may write a million characters.
_MAX_LINES = {True: 200, False: 5000}
_MAX_EQUAL = {True: 160, False: 10_000}
_MAX_CHANGED = {True: 600, False: 10_000}
_ROLES = {ACTUAL: "actual", EXPECTED: "expected", BOTH: ""}
_ROLE_WIDTH = len("expected")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line."""

    shown: str
    """The text; it has passed `visible`."""
    changed: bool
    """Whether the other side has a different text here."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of one text or of both."""

    mark: str
    """`ACTUAL`, `EXPECTED` or `BOTH`."""
    parts: tuple[Part, ...]


class _Stretch(NamedTuple):
    """A part of both texts."""

    actual: str
    expected: str
    equal: bool


def text_lines(actual: str, expected: str, difference: TextDifference, *, fold: bool = True) -> list[TextLine | Fold]:
    """Return the aligned lines of two texts.

    With `fold`, long lines and lines far from a difference are shortened; extremely long texts always are.
    """
    blocks = list(_cut(actual, expected, difference))
    last = len(blocks) - 1
    lines: list[TextLine | Fold] = []
    for index, block in enumerate(blocks):
        if all(stretch.equal for stretch in block):
            lines += _equal_lines(block, fold, head=index > 0, tail=index < last)
        else:
            lines += _differing_lines(block, fold)
    left_out = len(lines) - _MAX_LINES[fold]
    if left_out <= 1:
        return lines
    note = Fold(f"{left_out:,} more lines, all of them in -f json")
    return [*lines[: _MAX_LINES[fold] - _LAST_LINES], note, *lines[-_LAST_LINES:]]


def _cut(actual: str, expected: str, difference: TextDifference) -> Iterator[list[_Stretch]]:
    """Cut both texts into the stretches of a difference."""
    ours = theirs = 0
    for block in difference.blocks:
        stretches = []
        for size in block:
            texts = actual[ours : ours + size.actual], expected[theirs : theirs + size.expected]
            stretches.append(_Stretch(*texts, size.equal))
            ours, theirs = ours + size.actual, theirs + size.expected
        yield stretches


def difference_lines(actual: str, expected: str, difference: TextDifference, *, fold: bool = True) -> Iterator[str]:
    """Show two texts as lines that begin with `-` (actual), `+` (expected) or two spaces; `^` marks differences."""
    for line in text_lines(actual, expected, difference, fold=fold):
        if isinstance(line, Fold):
            yield f"  ... {line.what} ..."
            continue
        prefix = "  =" if line.mark == BOTH else f"{line.mark} {_ROLES[line.mark]}"
        for number, (shown, carets) in enumerate(caret_rows(line)):
            yield f"{'' if number else prefix:{_ROLE_WIDTH + 2}}  {shown}"
            if carets:
                yield f"{'':{_ROLE_WIDTH + 2}}  {carets}"


def caret_rows(line: TextLine, width: int | None = None) -> Iterator[tuple[str, str]]:
    """Cut a line into rows of at most `width` terminal cells, each with `^` below the differences, if marking helps."""
    shown, carets, used = "", "", 0
    is_marked = len({part.changed for part in line.parts}) > 1
    for part in line.parts:
        for character in part.shown:
            cells = cell_len(character)
            if width is not None and used + cells > width:
                yield shown, carets.rstrip()
                shown, carets, used = "", "", 0
            shown += character
            carets += ("^" if part.changed and is_marked else " ") * cells
            used += cells
    yield shown, carets.rstrip()


def _equal_lines(block: Sequence[_Stretch], fold: bool, *, head: bool, tail: bool) -> Sequence[TextLine | Fold]:
    text = "".join(stretch.actual for stretch in block)
    lines = [TextLine(BOTH, (_part(line, False, fold),)) for line in split_lines(text)]
    return fold_equal(lines, lambda count: plural(count, "equal line"), head=head, tail=tail) if fold else lines


def _differing_lines(block: Sequence[_Stretch], fold: bool) -> Iterator[TextLine]:
    """Yield groups of lines: those of actual, then those of expected, up to a place where lines of both end."""
    pending: list[_Stretch] = []
    for stretch in block:
        if not stretch.equal:
            pending.append(stretch)
            continue
        for piece in split_lines(stretch.actual):
            pending.append(_Stretch(piece, piece, equal=True))
            if piece.endswith("\n"):
                yield from _aligned_lines(pending, fold)
                pending = []
    yield from _aligned_lines(pending, fold)


def _aligned_lines(stretches: Sequence[_Stretch], fold: bool) -> Iterator[TextLine]:
    if all(stretch.equal for stretch in stretches):
        parts = tuple(_part(stretch.actual, False, fold) for stretch in stretches)
        yield from [TextLine(BOTH, parts)] * bool(parts)
        return
    yield from _side_lines(ACTUAL, [(stretch.actual, stretch.equal) for stretch in stretches], fold)
    yield from _side_lines(EXPECTED, [(stretch.expected, stretch.equal) for stretch in stretches], fold)


def _side_lines(mark: str, texts: Iterable[tuple[str, bool]], fold: bool) -> Iterator[TextLine]:
    """Cut the text of one side into lines."""
    line: list[Part] = []
    for text, is_equal in texts:
        for piece in split_lines(text):
            line.append(_part(piece, not is_equal, fold))
            if piece.endswith("\n"):
                yield TextLine(mark, tuple(line))
                line = []
    if line:
        yield TextLine(mark, tuple(line))


def _part(text: str, changed: bool, fold: bool) -> Part:
    most = _MAX_CHANGED if changed else _MAX_EQUAL
    return Part(shortened(text, most[fold]), changed)
