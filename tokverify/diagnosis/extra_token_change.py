"""Generate the change that removes the tokens after the reference's last one, such as those of a fine-tuning script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tokverify.diagnosis import cost
from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.token_patch import name_tokens, types_of, without_padding

if TYPE_CHECKING:
    from tokverify.diagnosis.evidence import Evidence
    from tokverify.spec import TokenizerSpec


def extra_tokens(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Remove the tokens after the reference's last one, unless they are padding or the reference may not list all."""
    reference, spec = evidence.facts.spec, evidence.spec
    if reference is None or not evidence.facts.lists_all_tokens:
        return
    extra = range(len(reference.tokens), len(spec.tokens))
    if not without_padding(extra, spec):
        return
    yield TokenizerChange(
        kind="added",
        sentence=f"removing {name_tokens(extra, spec)} that the reference does not have",
        cost=cost.ADDED_TOKENS,
        transform=partial(_cut, size=len(reference.tokens), declared=evidence.facts.special_ids),
    )


def _cut(spec: TokenizerSpec, size: int, declared: Mapping[str, int]) -> TokenizerSpec:
    """Keep the first `size` tokens; the roles of others go to the tokens that the reference declares, if it does."""
    special_ids = {role: id if id < size else declared.get(role, size) for role, id in spec.special_ids.items()}
    return replace(
        spec,
        tokens=spec.tokens[:size],
        types=types_of(spec)[:size],
        scores=_first(spec.scores, size),
        special_ids={role: id for role, id in special_ids.items() if id < size},
    )


def _first(scores: Sequence[float] | None, size: int) -> Sequence[float] | None:
    return None if scores is None else scores[:size]
