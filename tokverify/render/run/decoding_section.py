"""The part of the `table` format on decoding, the second axis that does not change the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.layout import ACTUAL, DIM, EXPECTED, exact, labeled, words
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.run import CaseResult, Report

_MAX_CASES = 10
_BEFORE, _AFTER = 15, 35


def decoding_section(report: Report, *, verbose: bool) -> RenderableType:
    """Show what each side makes of the same ids, where that differs."""
    differing = [result for result in report.results if result.decode_difference]
    count = len(differing) if verbose else min(len(differing), _MAX_CASES)
    title = Text.assemble(
        ("DECODING ", "bold yellow"),
        f"the two sides decode the ids of {plural(len(differing), 'case')} differently;"
        " this does not change the verdict",
        overflow="fold",
    )
    lines = [line for result in differing[:count] for line in _lines(result, verbose)]
    if count < len(differing):
        lines.append(("", Text(f"... {len(differing) - count:,} more, shown with -v ...", DIM)))
    return Group(title, labeled(lines, indent=2))


def _lines(result: CaseResult, verbose: bool) -> Iterator[tuple[str, Text]]:
    difference = result.decode_difference
    if difference is None:
        return
    actual, expected, offset = difference.actual, difference.expected, difference.offset
    yield "case", words(f"{result.case.suite}/{result.case.id}, from byte {offset:,} on", "bold")
    for role, data, style in (("actual", actual, ACTUAL), ("expected", expected, EXPECTED)):
        yield role, exact(data, style) if verbose else _around(data, offset, style)


def _around(data: bytes, offset: int, style: str) -> Text:
    start, end = max(0, offset - _BEFORE), min(len(data), offset + _AFTER)
    parts = [exact(data[start:end], style)]
    if start:
        parts.insert(0, Text(f"... {plural(start, 'byte')} ... ", DIM))
    if end < len(data):
        parts.append(Text(f" ... {plural(len(data) - end, 'byte')} ...", DIM))
    return Text.assemble(*parts, overflow="fold")
