"""Correct a reference whose files contradict each other, so that only the faults of the model remain."""

from __future__ import annotations

from dataclasses import replace

from tokverify.compare.blame import compare_around
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.references.huggingface import DescribedTokenizer
from tokverify.tokenizer import Tokenizer


def correct_around(reference: Opened, actual: Tokenizer) -> OpenedReference | None:
    """Return a reference with the tokens around a text that another place than its tokenizer says; None if none does.

    Only a place with which the model agrees counts.
    """
    tokenizer = reference.tokenizer
    if not isinstance(reference, OpenedReference) or not isinstance(tokenizer, DescribedTokenizer):
        return None
    around = compare_around(reference.contradictions, actual, tokenizer)
    if not any(blame for _, _, blame in around):
        return None
    before, after = (ours if blame else theirs for ours, theirs, blame in around)
    return OpenedReference(replace(reference.found, tokenizer=tokenizer.with_around(before, after)))
