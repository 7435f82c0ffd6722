"""Compare two versions of a tokenizer: their parts, and then what they do to cases, fuzzed texts and a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.diff.part import compare_parts
from tokverify.errors import EncodeError
from tokverify.report.diff import ChangeReport, Effect
from tokverify.verify.comparison import verify_tokenizers

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.diff.version import Version
    from tokverify.fuzz.plan import FuzzPlan
    from tokverify.report.fuzz import FuzzProgress
    from tokverify.tokenizer import Tokenizer


def compare_versions(  # noqa: PLR0913 - the optional ones are keywords
    old: Version,
    new: Version,
    cases: Sequence[Case],
    *,
    plan: FuzzPlan | None = None,
    corpus: Iterable[str] | None = None,
    behavior_only: bool = False,
    on_fuzz: Callable[[FuzzProgress], None] = lambda _: None,
) -> ChangeReport:
    """Compare two versions of a tokenizer.

    Args:
        old: The version that is taken to be right.
        new: The version under test.
        cases: Texts to encode; what they expect of single tokenizers is not looked at.
        plan: What to fuzz; None for nothing.
        corpus: Lines of real text, to measure the effect on.
        behavior_only: Do not let changed parts count as a difference.
        on_fuzz: Called after each batch of fuzzed texts.
    """
    from tokverify.fuzz.loop import fuzz

    sides = new.side, old.side
    parts, not_compared = compare_parts(old, new)
    texts = [replace(case, expect={}) for case in cases]
    report = verify_tokenizers(new.tokenizer, old.tokenizer, texts, sides=sides)
    effect = None if corpus is None else measure(old.tokenizer, new.tokenizer, corpus)
    # Last, as Ctrl-C ends it and leaves the rest whole.
    fuzzed = fuzz(new.tokenizer, old.tokenizer, plan, sides=sides, on_progress=on_fuzz) if plan else None
    file = new.file or old.file
    return ChangeReport(parts, report, fuzzed, effect, not_compared, behavior_only, file)


def measure(old: Tokenizer, new: Tokenizer, lines: Iterable[str]) -> Effect:
    """Count the lines and bytes of a corpus whose ids change; a line that one side cannot encode has changed."""
    counts = [0] * 6
    parse_special = old.parses_special and new.parses_special
    for line in lines:
        before, after = (_ids(tokenizer, line, parse_special=parse_special) for tokenizer in (old, new))
        size, changed = len(line.encode()), before != after
        found = 1, int(changed), size, size * changed, len(before or ()), len(after or ())
        counts = [count + more for count, more in zip(counts, found, strict=True)]
    return Effect(*counts)


def _ids(tokenizer: Tokenizer, text: str, *, parse_special: bool) -> list[int] | None:
    try:
        return list(tokenizer.encode(text, add_special=False, parse_special=parse_special))
    except EncodeError:
        return None
