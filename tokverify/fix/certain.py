"""Changes that need no search, because the file contradicts itself or llama.cpp's own tables in a known way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from tokverify.audit.marker import read_template
from tokverify.audit.role_name import ROLES_BY_NAME, natural_id
from tokverify.diagnosis import TokenizerChange
from tokverify.diagnosis.setting_change import assign_role, unassign_role
from tokverify.diagnosis.token_patch import types_of
from tokverify.engine.attribute import ORDINARY, Attribute
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.spec import TokenType
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from tokverify.diagnosis import Facts
    from tokverify.engine.encoder import Encoder
    from tokverify.spec import TokenizerSpec

_BYTES = 256
_COST = 1.0


def certain_changes(spec: TokenizerSpec, encoder: Encoder | None, facts: Facts) -> Iterator[TokenizerChange]:
    """Yield the repairs of faults that show in the file itself."""
    yield from _valid_roles(spec, facts)
    yield from _byte_tokens(spec)
    if encoder is not None:
        yield from _ordinary_end(encoder)
    if encoder is not None and spec.chat_template is not None:
        yield from _turn_end(spec, encoder)
        yield from _double_bos(encoder, facts)


def _valid_roles(spec: TokenizerSpec, facts: Facts) -> Iterator[TokenizerChange]:
    """Give the roles whose ids are out of range to the tokens that the reference or their names suggest, or to none.

    llama.cpp ignores such an id, as if the role had no token.
    """
    wrong = [role for role, id in spec.special_ids.items() if id >= len(spec.tokens)]
    if wrong:
        yield reduce(TokenizerChange.then, [_valid_role(spec, role, facts) for role in wrong])


def _valid_role(spec: TokenizerSpec, role: str, facts: Facts) -> TokenizerChange:
    is_declared = role in facts.special_ids or facts.gguf_spec is not None
    if is_declared:
        id = facts.special_ids.get(role)
    else:
        controls = [id for id, type in enumerate(types_of(spec)) if type == TokenType.CONTROL]
        id = _suggest_id(role, {token: id for id, token in enumerate(spec.tokens)}, controls)
    if id is None or id >= len(spec.tokens):
        return unassign_role(role)
    return assign_role(spec, role, id, confirmed=is_declared)


def _suggest_id(role: str, ids: Mapping[str, int], controls: Sequence[int]) -> int | None:
    """Return the only token that is named like a role, or for the ends of a text the only control token."""
    named = natural_id(ids, role)
    if named is None and role in {"bos", "eos"} and len(controls) == 1:
        return controls[0]
    return named


def _byte_tokens(spec: TokenizerSpec) -> Iterator[TokenizerChange]:
    """Type all 256 byte tokens BYTE if a vocabulary has them and some are typed otherwise."""
    ids = [id for id, token in enumerate(spec.tokens) if token.startswith("<0x") and BYTE_PIECE.fullmatch(token)]
    if spec.types is None or len(ids) != _BYTES:
        return
    wrong = [id for id in ids if spec.types[id] != TokenType.BYTE]
    if wrong:
        types = list(spec.types)
        for id in wrong:
            types[id] = TokenType.BYTE.value
        yield TokenizerChange(
            kind="types",
            sentence=f"setting the type of {plural(len(wrong), 'byte token')} to BYTE",
            cost=_COST,
            transform=lambda spec: replace(spec, types=types),
        )


def _ordinary_end(encoder: Encoder) -> Iterator[TokenizerChange]:
    """End generations with the token that is named like an end, or the only control token, instead of any other."""
    settings = encoder.settings
    eos = settings.special_ids.get("eos")
    if eos is None or not (settings.attributes[eos] & ORDINARY or _has_other_role(settings.pieces[eos])):
        return
    controls = [id for id, attribute in enumerate(settings.attributes) if attribute & Attribute.CONTROL]
    id = _suggest_id("eos", settings.ids, controls)
    if id is not None and id != eos:
        yield assign_role(encoder.spec, "eos", id, confirmed=False)


def _has_other_role(text: str) -> bool:
    return "eos" not in ROLES_BY_NAME.get(text, ("eos",))


def _turn_end(spec: TokenizerSpec, encoder: Encoder) -> Iterator[TokenizerChange]:
    """Declare the token that ends a turn in the chat template, if it does not end a generation."""
    settings, markers = encoder.settings, read_template(spec.chat_template or "")
    ends = [settings.ids[text] for text in markers.turn_ends if text in settings.ids]
    if not ends or "eos_token" in markers.template or not settings.eog_ids.isdisjoint(ends):
        return
    yield assign_role(encoder.spec, "eot", ends[0], confirmed=False)


def adds_bos_twice(encoder: Encoder, facts: Facts) -> bool:
    """Whether the chat template begins with BOS, the tokenizer adds it too, and no reference says that it should."""
    if not encoder.settings.add_bos or (facts.expected is not None and facts.expected.adds_special):
        return False
    return begins_with_bos(encoder)


def begins_with_bos(encoder: Encoder) -> bool:
    """Whether the chat template begins with BOS."""
    settings = encoder.settings
    bos = settings.special_ids.get("bos")
    return bos is not None and read_template(encoder.spec.chat_template or "").begins_with(settings.pieces[bos])


def _double_bos(encoder: Encoder, facts: Facts) -> Iterator[TokenizerChange]:
    """Turn add_bos off if the chat template adds BOS as well."""
    if adds_bos_twice(encoder, facts):
        yield TokenizerChange(
            kind="add_bos",
            sentence="turning add_bos off, because the chat template begins with BOS",
            cost=_COST,
            transform=lambda spec: replace(spec, add_bos=False),
        )
