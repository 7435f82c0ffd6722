"""Recognize a reference that belongs to another model: nothing that it declares would repair the file."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokverify.report.run import NEARLY_ALL
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.repair.facts import Facts

_MARKS = "▁Ġ# "
"""How families mark tokens that begin or continue a word."""
_IN_PLACE = 0.05
"""If more of the tokens have the same ids, the file was once made from the reference; of other models, 0.5% have."""
_SHARED = 0.9
"""If two vocabularies share more of the tokens, one may be a permutation of the other; GPT-2 and MPT share 73%."""


def has_other_tokens(spec: TokenizerSpec, reference: Sequence[str]) -> bool:
    """Whether nearly all tokens of a reference differ from those with the same ids."""
    differing = sum(ours != theirs for ours, theirs in zip(spec.tokens, reference, strict=False))
    return differing > NEARLY_ALL * min(len(spec.tokens), len(reference))


def is_of_other_model(spec: TokenizerSpec, facts: Facts) -> bool:
    """Whether a reference declares neither the same tokens at the same ids nor the same ones in another order.

    Case, compatibility forms and the marks of words do not count, because faults change them.
    """
    reference = facts.spec.tokens if facts.spec else ()
    if not reference or not has_other_tokens(spec, reference):
        return False
    ours, theirs = list(map(_simplify, spec.tokens)), list(map(_simplify, reference))
    in_place = sum(left == right for left, right in zip(ours, theirs, strict=False))
    if in_place >= _IN_PLACE * min(len(ours), len(theirs)):
        return False
    distinct, others = set(ours), set(theirs)
    return len(distinct & others) < _SHARED * max(len(distinct), len(others))


def describe_other_model(reference: str) -> str:
    """Say that a reference, given its name, belongs to another model, and what to do."""
    return (
        f"the reference ({reference}) belongs to another model: nearly all of its tokens differ from those with the"
        " same ids here; name the right one with -r, or convert the model again"
    )


def _simplify(token: str) -> str:
    return unicodedata.normalize("NFKC", token.strip(_MARKS)).casefold()
