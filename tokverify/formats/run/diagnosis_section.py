"""The part of the `table` format that tells why cases fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from tokverify.formats.layout import DIM, labeled, words
from tokverify.formats.run.effect import effect
from tokverify.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from tokverify.diagnosis.result import Diagnosis, Explanation

_INDENT = 2
_MOST_CASES = 5


def diagnosis_section(diagnosis: Diagnosis, *, verbose: bool) -> RenderableType:
    """Tell what may be the reason of what differs, the likeliest first."""
    lines = [
        line
        for number, explanation in enumerate(diagnosis.explanations, 1)
        for line in _explanation(number, explanation, diagnosis, verbose)
    ]
    if not lines:
        lines = [("", Text(f"none of {plural(diagnosis.tried, 'change')} that were tried makes a failing case match"))]
    if diagnosis.stopped_early:
        lines.append(("", Text(f"time ran out after {plural(diagnosis.tried, 'change')}", DIM)))
    return Group(Text("DIAGNOSIS", "bold"), labeled(lines, indent=_INDENT))


def _explanation(
    number: int, explanation: Explanation, diagnosis: Diagnosis, verbose: bool
) -> Iterator[tuple[str, Text]]:
    yield str(number), words(effect(explanation, diagnosis), "bold" if number == 1 else "")
    if explanation.unexplained:
        yield "", words(f"unexplained: {_cases(explanation.unexplained, verbose)}", DIM)
    if not explanation.expressible:
        yield "", Text("GGUF cannot express it", "yellow")
    elif explanation.repair:
        yield "", words(f"repair: tokverify fix, or {explanation.repair}")
    else:
        yield "", Text("repair: tokverify fix")


def _cases(names: tuple[str, ...], verbose: bool) -> str:
    if verbose or len(names) <= _MOST_CASES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_CASES])} and {len(names) - _MOST_CASES:,} more"
