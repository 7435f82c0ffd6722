"""The top of the `table` format: who was compared with whom, the vocabularies, and the counts by suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.layout import DIM, exact, labeled, table, words
from tokverify.report.run import NEARLY_ALL, Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.run import PieceDifference, Report, Side, VocabularyDifference

_MAX_LINES = 10
_DIFFERENT = "different tokens"
# Two quite different vocabularies differ in every piece, and drawing those would take minutes.
_MAX_VERBOSE_PIECES = 1000
_STATUS_STYLES = {
    Status.MATCH: "green",
    Status.MISMATCH: "red",
    Status.ERROR: "red",
    Status.KNOWN: "yellow",
    Status.SKIPPED: "yellow",
}


def heading(report: Report, *, verbose: bool) -> RenderableType:
    """Say who stood on each side, why, and what that cannot prove."""
    return labeled([*_side("actual", report.actual, verbose), *_side("expected", report.expected, verbose)])


def _side(role: str, side: Side, verbose: bool) -> Iterator[tuple[str, Text]]:
    yield role, words(side.name if side.source == side.name else f"{side.name}, {side.source}", "bold")
    if side.reason:
        yield "", words(f"why this one: {side.reason}")
    if side.caveat:
        yield "", words(f"caveat: {side.caveat}", "yellow")
    if side.fingerprint:
        yield "", Text(f"fingerprint {side.fingerprint}", DIM)
    if side.sha256 and verbose:
        yield "", Text(f"sha256 {side.sha256}", DIM)
    if verbose:
        yield from (("", words(f"{name} = {value}", DIM)) for name, value in side.settings.items())
    if side.overrides:
        count = plural(len(side.overrides), "setting")
        yield "", words(f"{count} taken otherwise than the file declares:", "yellow")
        yield from (("", line) for line in _first([words(f"- {line}") for line in side.overrides], verbose))


def _first(lines: Sequence[Text], verbose: bool) -> list[Text]:
    left_out = len(lines) - _MAX_LINES
    if verbose or left_out <= 1:
        return list(lines)
    return [*lines[:_MAX_LINES], Text(f"... {left_out:,} more, shown with -v ...", DIM)]


def vocabulary_section(vocabulary: VocabularyDifference | None, *, verbose: bool) -> RenderableType:
    """Say how the vocabularies differ, or that they do not."""
    if vocabulary is None:
        return labeled([("vocabulary", Text("not compared", DIM))])
    lines = list(vocabulary_lines(vocabulary))
    grid = labeled([("vocabulary", lines[0]), *(("", line) for line in lines[1:])])
    return Group(grid, Text(), _pieces(vocabulary.pieces, verbose)) if vocabulary.pieces else grid


def vocabulary_lines(vocabulary: VocabularyDifference) -> Iterator[Text]:
    """Yield how two vocabularies compare; the first line is the most general."""
    if not vocabulary:
        size = plural(vocabulary.actual_size, "token")
        yield Text(f"{size} on both sides, none of them different")
    if vocabulary.actual_size != vocabulary.expected_size:
        yield Text(f"{vocabulary.actual_size:,} tokens in actual, {vocabulary.expected_size:,} in expected", "red")
    for role, (actual, expected) in vocabulary.special_ids.items():
        yield words(f"{role} is {actual} in actual, {expected} in expected", "red")
    counts = Counter(map(_kind, vocabulary.pieces))
    for difference, count in counts.items():
        yield Text(f"{plural(count, 'id')} {'stands' if count == 1 else 'stand'} for {difference}", "red")
    if counts[_DIFFERENT] > NEARLY_ALL * min(vocabulary.actual_size, vocabulary.expected_size):
        yield Text("nearly all ids differ: is this the reference of this model? Name the right one with -r", "yellow")
    if vocabulary.respelled:
        yield Text(f"{plural(vocabulary.respelled, 'token')} spelled otherwise, for the same bytes", DIM)


def _kind(piece: PieceDifference) -> str:
    if piece.expected is None:
        return "a token in actual only"
    return _DIFFERENT if piece.actual is not None else "a token in expected only"


def _pieces(pieces: Sequence[PieceDifference], verbose: bool) -> RenderableType:
    shown = table(("id", "right"), ("actual", "left"), ("expected", "left"))
    most = _MAX_VERBOSE_PIECES if verbose else _MAX_LINES
    count = len(pieces) if len(pieces) <= most + 1 else most
    for piece in pieces[:count]:
        shown.add_row(str(piece.id), _piece(piece.actual), _piece(piece.expected))
    if count == len(pieces):
        return shown
    return Group(shown, Text(f"... {len(pieces) - count:,} more, all of them in -f json ...", DIM))


def _piece(piece: str | None) -> Text:
    return Text("(no such token)", DIM) if piece is None else exact(piece)


def suites_section(report: Report) -> RenderableType:
    """Count the results by suite."""
    suites: dict[str, Counter[Status]] = {}
    for result in report.results:
        suites.setdefault(result.case.suite, Counter())[result.status] += 1
    columns = [status for status in Status if status is not Status.KNOWN or report.baseline]
    shown = table(("suite", "left"), ("cases", "right"), *((str(status), "right") for status in columns))
    for suite, counts in suites.items():
        cells = [_count(counts[status], _STATUS_STYLES[status]) for status in columns]
        shown.add_row(words(suite), str(counts.total()), *cells)
    return shown


def _count(count: int, style: str) -> Text:
    return Text(f"{count:,}", style) if count else Text("-", DIM)
