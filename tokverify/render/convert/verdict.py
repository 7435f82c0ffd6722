"""The one-line summary of a conversion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.report.run import CaseResult, Status
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.report.convert import Conversion


_TARGETS = {"gguf": "GGUF", "tokenizers": "a tokenizer.json"}


def verdict(conversion: Conversion) -> str:
    """Summarize whether the file was written, and what differs."""
    return f"{conversion.target}: {_describe_outcome(conversion)}{_count_warnings(conversion)}"


def _describe_outcome(conversion: Conversion) -> str:
    if not conversion.differing:
        return f"written; it gives the same ids as {conversion.source} for all {_count_texts(conversion)}"
    found = f"{_count_differing(conversion)} differ, {_describe_explained(conversion)}"
    if conversion.written:
        return f"written because of --unexplained: {found}" if conversion.unexplained else f"written, but {found}"
    if conversion.unexplained:
        return f"not written: {found}; use --unexplained to write it anyway"
    return f"not written: {found}; without --strict it is written"


def _count_warnings(conversion: Conversion) -> str:
    return f"; {plural(len(conversion.warnings), 'warning')}" if conversion.warnings else ""


def _count_texts(conversion: Conversion) -> str:
    return f"{plural(len(_cases(conversion)), 'case')} and {plural(conversion.strings, 'generated text')}"


def _count_differing(conversion: Conversion) -> str:
    cases = _cases(conversion)
    failing = sum(result.status in {Status.MISMATCH, Status.ERROR} for result in cases)
    strings = conversion.differing - failing
    return (
        f"{failing:,} of {plural(len(cases), 'case')} and {strings:,} of {plural(conversion.strings, 'generated text')}"
    )


def _cases(conversion: Conversion) -> list[CaseResult]:
    return [result for result in conversion.report.results if result.case.suite != "found"]


def _describe_explained(conversion: Conversion) -> str:
    unexplained, total = conversion.unexplained, conversion.differing
    if not unexplained:
        return f"all because of what {_TARGETS[conversion.kinds[1]]} cannot express"
    return "for no known reason" if unexplained == total else f"{unexplained:,} of them for no known reason"
