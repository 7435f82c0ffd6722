"""Compare two versions of a tokenizer: their parts, and their ids for cases, generated texts and a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.diff.consequences import find_consequences
from tokverify.compare.diff.example import add_examples
from tokverify.compare.diff.pairing import Pair, judge_pair
from tokverify.compare.diff.parts import compare_parts
from tokverify.compare.diff.version import Version
from tokverify.errors import EncodeError, GoneError, UnsupportedError
from tokverify.report.consequence import Level
from tokverify.report.diff import ChangeReport, Effect
from tokverify.report.fuzz import FuzzProgress
from tokverify.report.pairing import Use
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokverify.compare.fuzz.plan import FuzzPlan


def compare_versions(  # noqa: PLR0913 - the optional ones are keywords
    old: Version,
    new: Version,
    cases: Sequence[Case],
    *,
    plan: FuzzPlan | None = None,
    corpus: Iterable[str] | None = None,
    behavior_only: bool = False,
    breaking: Sequence[Level] = (),
    uses: Sequence[Use] = (),
    on_fuzz: Callable[[FuzzProgress], None] = lambda _: None,
) -> ChangeReport:
    """Compare two versions of a tokenizer.

    Args:
        old: The version that is assumed to be right.
        new: The version under test.
        cases: Texts to encode; the ids that they expect from particular tokenizers are ignored.
        plan: What to fuzz; None to skip fuzzing.
        corpus: Lines of real text on which to measure the effect.
        behavior_only: Do not count changed parts as a difference.
        breaking: The only consequences that count as a difference; empty to count every difference.
        uses: What A and B are used for together; only this counts as a difference then.
        on_fuzz: Called after each batch of generated texts.
    """
    from tokverify.compare.fuzz.loop import fuzz

    sides = new.side, old.side
    parts, not_compared = compare_parts(old, new)
    texts = [replace(case, expect={}) for case in cases]
    report = verify_tokenizers(new.tokenizer, old.tokenizer, texts, sides=sides)
    if report.gone:
        raise GoneError(report.gone)
    # The parts are compared above, and in more detail.
    report = replace(report, differences=(), not_compared=())
    effect = None if corpus is None else measure(old.tokenizer, new.tokenizer, corpus)
    # Last, because Ctrl-C ends it and must leave the rest complete.
    fuzzed = fuzz(new.tokenizer, old.tokenizer, plan, sides=sides, on_progress=on_fuzz) if plan else None
    file = new.file or old.file
    found = add_examples(ChangeReport(parts, report, fuzzed, effect, not_compared, behavior_only, file))
    found = replace(found, consequences=find_consequences(old, new, found), breaking=tuple(breaking))
    return replace(found, pairings=judge_pair(Pair(old, new, found), uses))


def measure(old: Tokenizer, new: Tokenizer, lines: Iterable[str]) -> Effect:
    """Count the lines and bytes of a corpus whose ids change.

    A line that only one side can encode has changed. One that a side does not support is skipped.
    """
    count = changed_count = size = changed_size = old_tokens = new_tokens = skipped_count = 0
    modes = Modes(old, new)
    for line in lines:
        mode = modes.choose(line, Mode(add_special=False, parse_special=True))
        try:
            before, after = _encode(old, line, mode), _encode(new, line, mode)
        except UnsupportedError:
            skipped_count += 1
            continue
        line_size = len(line.encode())
        count += 1
        size += line_size
        if before != after:
            changed_count += 1
            changed_size += line_size
        old_tokens += len(before or ())
        new_tokens += len(after or ())
    return Effect(count, changed_count, size, changed_size, old_tokens, new_tokens, skipped_count)


def _encode(tokenizer: Tokenizer, text: str, mode: Mode) -> list[int] | None:
    try:
        return list(tokenizer.encode(text, **mode._asdict()))
    except EncodeError:
        return None
