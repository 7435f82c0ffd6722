"""The output formats of `tokverify convert`: what was made of a file, what is lost, and where the two differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.render.presentation import renderers
from tokverify.report.run import Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.convert import Conversion
    from tokverify.render import RenderOptions
    from tokverify.report.run import CaseResult


_TARGETS = {"gguf": "GGUF", "tokenizers": "a tokenizer.json"}


def verdict(conversion: Conversion) -> str:
    """Say whether the file was written, and what it is worth."""
    target = conversion.target
    if not conversion.differing:
        return f"{target}: written; it gives the same ids as {conversion.source} for all {tried(conversion)}"
    found = f"{differing(conversion)} differ, {explained(conversion)}"
    if conversion.written:
        return f"{target}: written by force: {found}"
    return f"{target}: not written: {found}; --force writes it all the same"


def tried(conversion: Conversion) -> str:
    """Say what was compared."""
    return f"{plural(len(_cases(conversion)), 'case')} and {plural(conversion.strings, 'made-up text')}"


def differing(conversion: Conversion) -> str:
    """Say how much of that differs."""
    cases = _cases(conversion)
    failing = sum(result.status in {Status.MISMATCH, Status.ERROR} for result in cases)
    counts = (
        (failing, plural(len(cases), "case")),
        (conversion.differing - failing, plural(conversion.strings, "made-up text")),
    )
    return " and ".join(f"{f'{count:,}' if count else 'none'} of {told}" for count, told in counts)


def _cases(conversion: Conversion) -> list[CaseResult]:
    return [result for result in conversion.report.results if result.case.suite != "found"]


def explained(conversion: Conversion) -> str:
    """Say how many of the differences are explained."""
    left, all = conversion.unexplained, conversion.differing
    if not left:
        return f"all explained by what {_TARGETS[conversion.kinds[1]]} cannot carry"
    return "for no known reason" if left == all else f"{left:,} of them for no known reason"


CONVERSION_FORMATS: Mapping[str, Callable[[Conversion, RenderOptions], str]] = renderers(
    {"table": "tokverify.render.convert.table:render", "json": "tokverify.render.convert.json:render"}
)
"""Name -> how a conversion is written."""
