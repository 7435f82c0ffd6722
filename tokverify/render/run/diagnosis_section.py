"""The part of the `table` format that tells why cases fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.render.layout import DIM, labeled, words
from tokverify.render.pasteable import Pasteable
from tokverify.render.run.verdict import effect
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tokverify.report.diagnosis import Diagnosis, Explanation

_INDENT = 2
_MOST_CASES = 5


def diagnosis_section(diagnosis: Diagnosis, *, verbose: bool) -> RenderableType:
    """Tell what may be the reason of what differs, the likeliest first."""
    parts: list[RenderableType] = [Text("DIAGNOSIS", "bold")]
    for number, explanation in enumerate(diagnosis.explanations, 1):
        parts += _explanation(number, explanation, diagnosis, verbose=verbose)
    if not diagnosis.explanations:
        told = f"none of {plural(diagnosis.tried, 'change')} that were tried makes a failing case match"
        parts.append(_lines("", [Text(told)]))
    if diagnosis.stopped_early:
        parts.append(_lines(" ", [Text(f"time ran out after {plural(diagnosis.tried, 'change')}", DIM)]))
    return Group(*parts)


def _lines(label: str, lines: Sequence[Text]) -> RenderableType:
    return labeled([(label if index == 0 else "", line) for index, line in enumerate(lines)], indent=_INDENT)


def _explanation(
    number: int, explanation: Explanation, diagnosis: Diagnosis, *, verbose: bool
) -> Iterator[RenderableType]:
    lines = [words(effect(explanation, diagnosis), "bold" if number == 1 else "")]
    if explanation.unexplained:
        lines.append(words(f"unexplained: {_cases(explanation.unexplained, verbose)}", DIM))
    if explanation.repair.remark:
        lines.append(Text(explanation.repair.remark, "yellow"))
    yield _lines(str(number), lines)
    indent = " " * (_INDENT + len(f"{number}  "))
    yield from (Pasteable(Text(f"{indent}{command.label}: "), command) for command in explanation.repair.commands)


def _cases(names: tuple[str, ...], verbose: bool) -> str:
    if verbose or len(names) <= _MOST_CASES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_CASES])} and {len(names) - _MOST_CASES:,} more"
