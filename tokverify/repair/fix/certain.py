"""Changes that need no search, because the file contradicts itself or llama.cpp's own tables in a known way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from tokverify.compare.inner_end import find_inner_ends
from tokverify.compare.marker import read_template
from tokverify.compare.opened import Opened
from tokverify.compare.role_name import ROLES_BY_NAME, suggest_end
from tokverify.engine.attribute import ORDINARY
from tokverify.engine.encoder import Encoder
from tokverify.engine.special_text import BYTE_PIECE, ENDING_FIM_ROLES
from tokverify.repair.change import TokenizerChange
from tokverify.repair.extra_token_change import valid_roles
from tokverify.repair.setting_change import assign_role, unassign_role
from tokverify.repair.token_patch import TokenPatch, kind_of, patch_tokens, types_of
from tokverify.spec import TokenizerSpec, TokenType, ids_of_type
from tokverify.text.wording import plural

_BYTES = 256
_COST = 1.0


def certain_changes(spec: TokenizerSpec, encoder: Encoder | None, facts: Opened) -> Iterator[TokenizerChange]:
    """Yield the repairs of faults that show in the file itself."""
    if roles := valid_roles(spec, facts):
        yield reduce(TokenizerChange.then, roles)
    if facts.types is None:
        yield from _missing_types(spec)
    yield from _byte_tokens(spec)
    if encoder is not None:
        yield from _ordinary_end(encoder, facts)
        yield from _other_ordinary_ends(encoder, facts)
        yield from _inner_ends(encoder, facts)
        yield from _turn_end(encoder)


def _missing_types(spec: TokenizerSpec) -> Iterator[TokenizerChange]:
    """Type tokens NORMAL whose type is none that exists, as most tokens are; the search finds out about the others."""
    ids = ids_of_type(types_of(spec), TokenType.UNDEFINED)
    if ids:
        sentence = f"setting the type of {plural(len(ids), 'token')} to NORMAL"
        yield patch_tokens({id: TokenPatch(type=TokenType.NORMAL.value) for id in ids}, "types", sentence, _COST)


def _byte_tokens(spec: TokenizerSpec) -> Iterator[TokenizerChange]:
    """Type all 256 byte tokens BYTE if a vocabulary has them and some are typed otherwise, and no other token."""
    ids = [id for id, token in enumerate(spec.tokens) if token.startswith("<0x") and BYTE_PIECE.fullmatch(token)]
    if spec.types is None or len(ids) != _BYTES:
        return
    typed = set(ids_of_type(types_of(spec), TokenType.BYTE))
    groups = {TokenType.BYTE: sorted(set(ids) - typed), TokenType.NORMAL: sorted(typed - set(ids))}
    names = {TokenType.BYTE: "byte token", TokenType.NORMAL: "other token"}
    parts = [f"of {plural(len(group), names[type])} to {type.name}" for type, group in groups.items() if group]
    patches = {id: TokenPatch(type=type.value) for type, group in groups.items() for id in group}
    if patches:
        yield patch_tokens(patches, "types", f"setting the type {' and '.join(parts)}", _COST)


def _ordinary_end(encoder: Encoder, facts: Opened) -> Iterator[TokenizerChange]:
    """End generations with the reference's EOS, or else a token that is named like an end or the only control token.

    If the reference has another text for the token that ends them now, its text is wrong, and not its role.
    """
    settings = encoder.settings
    eos = settings.special_ids.get("eos")
    if eos is None or not (settings.attributes[eos] & ORDINARY or _has_other_role(settings.pieces[eos])):
        return
    if facts.bytes_of(eos) not in {None, encoder.token_bytes(eos)}:
        return
    id = None if facts.is_contradicted("eos token") else facts.special_ids.get("eos")
    if id is None or id >= len(settings.pieces) or settings.attributes[id] & ORDINARY:
        id = suggest_end(settings)
    if id is not None and id != eos:
        yield assign_role(encoder.spec, "eos", id, confirmed=False, pieces=facts.pieces)


def _other_ordinary_ends(encoder: Encoder, facts: Opened) -> Iterator[TokenizerChange]:
    """Take each other role that ends generations from an ordinary token, unless the token's text is what is wrong."""
    settings = encoder.settings
    for role in ("eot", "eom", *ENDING_FIM_ROLES):
        id = encoder.spec.valid_special_ids.get(role)
        if id is None or not settings.attributes[id] & ORDINARY or facts.special_ids.get(role) == id:
            continue
        # A marker may be what its role says, and typed wrongly.
        if kind_of(settings.pieces[id]) == "tags":
            continue
        if facts.bytes_of(id) in {None, encoder.token_bytes(id)}:
            yield unassign_role(role)


def _has_other_role(text: str) -> bool:
    return "eos" not in ROLES_BY_NAME.get(text, ("eos",))


def _inner_ends(encoder: Encoder, facts: Opened) -> Iterator[TokenizerChange]:
    """Take the roles EOT and EOM from tokens that stand before or inside an answer, so that the turn's end has them."""
    template = encoder.spec.chat_template or facts.chat_template
    for role, _, end in find_inner_ends(encoder.settings, template, facts.named_ends):
        yield unassign_role(role) if end is None else assign_role(encoder.spec, role, end, confirmed=False)


def _turn_end(encoder: Encoder) -> Iterator[TokenizerChange]:
    """Declare the token that ends a turn in the chat template, if it does not end a generation."""
    settings = encoder.settings
    for end in read_template(encoder.spec.chat_template).missing_ends(settings.ids, settings.eog_ids)[:1]:
        yield assign_role(encoder.spec, "eot", end, confirmed=False)


def begins_with_bos(encoder: Encoder) -> bool:
    """Whether the chat template begins with BOS."""
    settings = encoder.settings
    bos = settings.special_ids.get("bos")
    return bos is not None and read_template(encoder.spec.chat_template).count_leading(settings.pieces[bos]) > 0
