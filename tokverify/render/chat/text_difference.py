"""Show where two texts differ: the lines of both, aligned, with what differs in a line marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.chat.text_difference import Stretch, compare_texts, lines_of
from tokverify.render.alignment import Fold
from tokverify.render.case_text import shortened
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.chat.text_difference import Block

ACTUAL, EXPECTED, BOTH = "-", "+", "="

_CONTEXT = 2
_LAST_LINES = 40
# With folding and without, in characters for what stands in one line. A template may write a million characters.
_MOST_LINES = {True: 200, False: 5000}
_MOST_EQUAL = {True: 160, False: 10_000}
_MOST_CHANGED = {True: 600, False: 10_000}
_ROLES = {ACTUAL: "actual", EXPECTED: "expected", BOTH: ""}
_ROLE_WIDTH = len("expected")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line that has passed `visible`; `changed` if the other side has something else there."""

    shown: str
    changed: bool


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of one text or of both; `mark` is `ACTUAL`, `EXPECTED` or `BOTH`."""

    mark: str
    parts: tuple[Part, ...]

    @property
    def shown(self) -> str:
        """The line as it is read."""
        return "".join(part.shown for part in self.parts)

    @property
    def is_marked(self) -> bool:
        """Whether some of it differs and some does not, so that it helps to be shown which."""
        return len({part.changed for part in self.parts}) > 1


def text_lines(actual: str, expected: str, *, fold: bool = True) -> list[TextLine | Fold]:
    """Return the lines of two texts, aligned; with `fold`, what is far from a difference or long is left out.

    What is very long is in any case, and said to be.
    """
    blocks = compare_texts(actual, expected)
    last = len(blocks) - 1
    lines: list[TextLine | Fold] = []
    for index, block in enumerate(blocks):
        if block.equal:
            lines += _equal_lines(block, fold, head=index > 0, tail=index < last)
        else:
            lines += _differing_lines(block, fold)
    left_out = len(lines) - _MOST_LINES[fold]
    if left_out <= 1:
        return lines
    note = Fold(f"{left_out:,} more lines, all of them in -f json")
    return [*lines[: _MOST_LINES[fold] - _LAST_LINES], note, *lines[-_LAST_LINES:]]


def difference_lines(actual: str, expected: str, *, fold: bool = True) -> Iterator[str]:
    """Show two texts as lines that begin with `-` (actual), `+` (expected) or two spaces; `^` marks what differs."""
    for line in text_lines(actual, expected, fold=fold):
        if isinstance(line, Fold):
            yield f"  ... {line.what} ..."
            continue
        prefix = "  =" if line.mark == BOTH else f"{line.mark} {_ROLES[line.mark]}"
        for number, (shown, carets) in enumerate(caret_rows(line)):
            yield f"{'' if number else prefix:{_ROLE_WIDTH + 2}}  {shown}"
            if carets:
                yield f"{'':{_ROLE_WIDTH + 2}}  {carets}"


def caret_rows(line: TextLine, width: int | None = None) -> Iterator[tuple[str, str]]:
    """Cut a line into rows of at most `width` terminal cells, each with `^` below what differs, if anything helps."""
    from rich.cells import cell_len

    shown, carets, used = "", "", 0
    for part in line.parts:
        for character in part.shown:
            cells = cell_len(character)
            if width is not None and used + cells > width:
                yield shown, carets.rstrip()
                shown, carets, used = "", "", 0
            shown += character
            carets += ("^" if part.changed and line.is_marked else " ") * cells
            used += cells
    yield shown, carets.rstrip()


def _equal_lines(block: Block, fold: bool, *, head: bool, tail: bool) -> Iterator[TextLine | Fold]:
    text = "".join(stretch.actual for stretch in block.stretches)
    lines = [TextLine(BOTH, (_part(line, False, fold),)) for line in lines_of(text)]
    start, end = _CONTEXT * head, len(lines) - _CONTEXT * tail
    if not fold or end - start <= 1:
        yield from lines
        return
    yield from lines[:start]
    yield Fold(plural(end - start, "equal line"))
    yield from lines[end:]


def _differing_lines(block: Block, fold: bool) -> Iterator[TextLine]:
    """Yield lines of actual, then those expected instead, up to where lines of both end together, and so on."""
    pending: list[Stretch] = []
    for stretch in block.stretches:
        if not stretch.equal:
            pending.append(stretch)
            continue
        for piece in lines_of(stretch.actual):
            pending.append(Stretch(piece, piece))
            if piece.endswith("\n"):
                yield from _aligned_lines(pending, fold)
                pending = []
    yield from _aligned_lines(pending, fold)


def _aligned_lines(stretches: Sequence[Stretch], fold: bool) -> Iterator[TextLine]:
    if all(stretch.equal for stretch in stretches):
        parts = tuple(_part(stretch.actual, False, fold) for stretch in stretches)
        yield from [TextLine(BOTH, parts)] * bool(parts)
        return
    yield from _side_lines(ACTUAL, [(stretch.actual, stretch.equal) for stretch in stretches], fold)
    yield from _side_lines(EXPECTED, [(stretch.expected, stretch.equal) for stretch in stretches], fold)


def _side_lines(mark: str, texts: Iterable[tuple[str, bool]], fold: bool) -> Iterator[TextLine]:
    """Cut what one side has at its line ends."""
    line: list[Part] = []
    for text, is_equal in texts:
        for piece in lines_of(text):
            line.append(_part(piece, not is_equal, fold))
            if piece.endswith("\n"):
                yield TextLine(mark, tuple(line))
                line = []
    if line:
        yield TextLine(mark, tuple(line))


def _part(text: str, changed: bool, fold: bool) -> Part:
    most = _MOST_CHANGED if changed else _MOST_EQUAL
    return Part(shortened(text, most[fold]), changed)
