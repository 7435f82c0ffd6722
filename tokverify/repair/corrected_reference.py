"""Correct a reference where its files contradict each other, so that the faults of a model can be told from its own."""

from __future__ import annotations

from dataclasses import replace

from tokverify.compare.affix import affixes_of
from tokverify.compare.contradiction import blamed_affixes, contradictions_of
from tokverify.compare.opened import Opened, OpenedReference
from tokverify.references.huggingface import HuggingFaceTokenizer
from tokverify.tokenizer import Tokenizer


def correct_around(reference: Opened, actual: Tokenizer) -> OpenedReference | None:
    """Return a reference with the tokens around a text that another place than its tokenizer says; None if none does.

    Only a place with which the model agrees counts.
    """
    tokenizer = reference.tokenizer
    if not isinstance(reference, OpenedReference) or not isinstance(tokenizer, HuggingFaceTokenizer):
        return None
    blamed = blamed_affixes(contradictions_of(tokenizer), actual, tokenizer)
    if not blamed:
        return None
    before, after = (
        ours if tuple(dict.fromkeys([*ours, *theirs])) in blamed else theirs
        for ours, theirs in zip(affixes_of(actual), affixes_of(tokenizer), strict=True)
    )
    return OpenedReference(replace(reference.found, tokenizer=tokenizer.with_around(before, after)))
