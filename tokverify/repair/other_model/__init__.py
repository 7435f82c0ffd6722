"""Recognize a reference that belongs to another model: nothing that it declares would repair the file.

What the file itself says speaks for it: no fault writes added tokens in place of those that stand for nothing, or
those that its chat template uses. Nor does one remove the embedding of a token.

To add evidence, write a function that says what shows another model, and add it to `EVIDENCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tokverify.compare.blame import explain_wrong_vocabulary
from tokverify.compare.damage.table import explain_misread_tokens, explain_rounded_scores
from tokverify.repair.other_model import marker, size, vocabulary
from tokverify.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokverify.compare.opened import Opened
    from tokverify.sources.gguf.declaration import Declaration

EVIDENCE: Sequence[Callable[[TokenizerSpec, Opened], str]] = (
    vocabulary.has_other_order,
    marker.lacks_markers,
    size.lacks_between,
    size.lacks_reserved,
    size.lacks_at_end,
    size.states_fewer,
    size.has_more_at_end,
    size.extends_base,
    size.has_moved_beyond,
    marker.renames_markers,
    marker.sorts_markers,
    marker.has_other_end,
    marker.moves_end,
    marker.names_reserved,
    vocabulary.has_other_spelling,
    size.has_other_embeddings,
)
"""What may show that a reference belongs to another model, each as the reason in a clause; empty if it does not."""


def doubt_reference(declaration: Declaration, facts: Opened) -> str:
    """Say why nothing that a reference declares would repair a file, and what to do; empty if something may."""
    spec = declaration.spec
    return (
        explain_wrong_vocabulary(spec.tokens, facts.tokenizer)
        or explain_misread_tokens(spec, facts)
        or explain_rounded_scores(spec, facts)
        or find_other_model(spec, facts)
        # A specification has no vocab_size, so this is not in `EVIDENCE`.
        or _explain(size.has_more_than_stated(declaration, facts), facts)
    )


def find_other_model(spec: TokenizerSpec, facts: Opened) -> str:
    """Say why a reference belongs to another model, or another version of it, and what to do; empty if it does not."""
    return _explain(next(filter(None, (explain(spec, facts) for explain in EVIDENCE)), ""), facts)


def _explain(reason: str, facts: Opened) -> str:
    if not reason:
        return ""
    return (
        f"the reference ({facts.name}) belongs to another model, or another version of it: {reason}; name the right one"
        " with -r, or convert the model again"
    )
