"""Make changes for roles whose ids are out of range: another token gets the role, or none."""

from __future__ import annotations

from tokverify.compare.opened import Opened
from tokverify.compare.role_name import suggest_id
from tokverify.repair.change import TokenizerChange
from tokverify.repair.setting_change import assign_role, unassign_role
from tokverify.repair.token_patch import types_of
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type


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
