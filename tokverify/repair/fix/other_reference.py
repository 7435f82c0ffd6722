"""Compare what a repair leaves with other tokenizers at hand, which may contradict the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokverify.case import Case
from tokverify.compare.comparison import compare_cases
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.references import FoundReference
from tokverify.report.fix import OtherReference
from tokverify.report.run import FAILING
from tokverify.text.sequence import thin_out
from tokverify.text.wording import plural
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


def find_other_version(
    model: Path, encoder: Encoder, reference: OpenedReference, others: Iterable[FoundReference], cases: Sequence[Case]
) -> str:
    """Say that a reference is that of another version of a model; empty if nothing beside the model says so.

    If the file agrees with a tokenizer beside it, limits aside, nothing is wrong with the file. That is not asked if
    the reference lies there, too.
    """
    if reference.path and reference.path.parent == model.parent:
        return ""
    for other in others:
        is_beside = other.path is not None and other.path.parent == model.parent
        if not is_beside or not _is_related(other.tokenizer, reference.tokenizer):
            continue
        disputed = _count_differing(other.tokenizer, reference.tokenizer, cases)
        # To look for limits takes longer than everything else.
        if disputed and _agrees(encoder, other, cases):
            return (
                f"the file agrees with {other.source}, with which the reference ({reference.source}) disagrees about "
                f"{disputed} of {plural(len(cases), 'case')}, so this is the reference of another version of the "
                "model; name the right one with -r, or move the other one to another directory"
            )
    return ""


def _agrees(original: Encoder, other: FoundReference, cases: Sequence[Case]) -> bool:
    explainer = explainer_of(original, Opened(other.tokenizer, other.path))
    results = compare_cases(original, other.tokenizer, cases)
    return not any(explainer.explain(result).fails for result in results if result.fails)


def _is_related(other: Tokenizer, reference: Tokenizer) -> bool:
    """Whether two tokenizers have most tokens in common, so that one is not just another file in the same folder."""
    if why_hidden(other, reference):
        return True
    ids = thin_out(range(min(other.vocab_size, reference.vocab_size)), _SAMPLE)
    return 2 * sum(other.token_bytes(id) == reference.token_bytes(id) for id in ids) > len(ids)


def _count_differing(actual: Tokenizer, expected: Tokenizer, cases: Sequence[Case]) -> int:
    return sum(result.status in FAILING for result in compare_cases(actual, expected, cases))
