"""Compare what a repair leaves with other tokenizers at hand, which may contradict the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tokverify.case import Case
from tokverify.compare.comparison import compare_cases
from tokverify.references import FoundReference
from tokverify.report.fix import OtherReference
from tokverify.report.run import FAILING
from tokverify.text.sequence import thin_out
from tokverify.tokenizer import Tokenizer, why_hidden

_SAMPLE = 200
"""So many tokens tell whether two tokenizers are related."""


def compare_with_others(
    left: Tokenizer, reference: Tokenizer, others: Iterable[FoundReference], cases: Sequence[Case]
) -> Iterator[OtherReference]:
    """Yield the other tokenizers that differ from the reference, or from the tokenizer that a repair leaves.

    Args:
        left: The repaired tokenizer, or the original one if there is no repair.
        reference: What it was repaired to agree with.
        others: The other tokenizers.
        cases: The texts to compare.
    """
    for other in others:
        if not _is_related(other.tokenizer, reference):
            continue
        disputed = _count_differing(other.tokenizer, reference, cases)
        differing = _count_differing(left, other.tokenizer, cases)
        if disputed or differing:
            yield OtherReference(other.source, len(cases), disputed, differing)


def _is_related(other: Tokenizer, reference: Tokenizer) -> bool:
    """Whether two tokenizers have most tokens in common, so that one is not just another file in the same folder."""
    if why_hidden(other, reference):
        return True
    ids = thin_out(range(min(other.vocab_size, reference.vocab_size)), _SAMPLE)
    return 2 * sum(other.token_bytes(id) == reference.token_bytes(id) for id in ids) > len(ids)


def _count_differing(actual: Tokenizer, expected: Tokenizer, cases: Sequence[Case]) -> int:
    return sum(result.status in FAILING for result in compare_cases(actual, expected, cases))
