"""Generate the changes that remove the tokens after the reference's last one, and give their roles to others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce

from tokverify.compare.opened import Opened
from tokverify.compare.role_name import suggest_id
from tokverify.repair import cost
from tokverify.repair.added_token_change import padding
from tokverify.repair.change import TokenizerChange
from tokverify.repair.evidence import Evidence
from tokverify.repair.setting_change import assign_role, unassign_role
from tokverify.repair.token_patch import name_tokens, types_of, without_padding
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type, pieces_made_by


def extra_tokens(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Remove the tokens after the reference's last one, unless they are padding or the reference may not list all.

    Its last one may be one that only the files beside it list.
    Their roles go to other tokens, or to none, and the merges that form them are removed as well. Padding takes
    the place of those for which the model has an embedding.
    """
    facts, spec = evidence.facts, evidence.spec
    if not facts.lists_all_tokens:
        return
    size = len(facts.extended_spec.tokens) if facts.extended_spec else facts.listed_size
    extra = range(size, len(spec.tokens))
    if not without_padding(extra, spec):
        return
    cut = TokenizerChange(
        kind="added",
        sentence=f"removing {name_tokens(extra, spec)} that the reference does not have",
        cost=cost.ADDED_TOKENS,
        transform=partial(_cut, size=size),
    )
    parts = [cut, *valid_roles(cut.transform(spec), facts)]
    if size < (spec.embedding_rows or 0):
        parts.append(padding(size, spec.embedding_rows or 0))
    change = reduce(TokenizerChange.then, parts)
    yield replace(change, kind=cut.kind, cost=cut.cost)


def _cut(spec: TokenizerSpec, size: int) -> TokenizerSpec:
    scores = None if spec.scores is None else spec.scores[:size]
    removed = set(spec.tokens[size:]).difference(spec.tokens[:size])
    return replace(
        spec,
        tokens=spec.tokens[:size],
        types=types_of(spec)[:size],
        scores=scores,
        merges=None if spec.merges is None else _without(removed, spec.merges),
    )


def _without(removed: Collection[str], merges: Sequence[str]) -> Sequence[str]:
    """Return the merges that form none of the removed tokens: a merge without a token splits a text into bytes."""
    kept = [merge for merge, piece in zip(merges, pieces_made_by(merges), strict=True) if piece not in removed]
    return merges if len(kept) == len(merges) else kept


def valid_roles(spec: TokenizerSpec, facts: Opened) -> list[TokenizerChange]:
    """Return one change for each role whose id is out of range; llama.cpp ignores such an id.

    The role goes to the token that the reference declares or, if it declares none, that a name suggests.
    """
    return [_valid_role(spec, role, facts) for role, id in spec.special_ids.items() if id >= len(spec.tokens)]


def _valid_role(spec: TokenizerSpec, role: str, facts: Opened) -> TokenizerChange:
    is_declared = role in facts.special_ids or facts.gguf_spec is not None
    id = facts.special_ids.get(role) if is_declared else _suggest_id(spec, role)
    if id is None or id >= len(spec.tokens):
        return unassign_role(role)
    return assign_role(spec, role, id, confirmed=is_declared)


def _suggest_id(spec: TokenizerSpec, role: str) -> int | None:
    ids = {token: id for id, token in enumerate(spec.tokens)}
    return suggest_id(role, ids, ids_of_type(types_of(spec), TokenType.CONTROL))
