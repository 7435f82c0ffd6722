"""The names of special tokens, such as `<bos>` or `</s>`, that say which role a token has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tokverify.engine.attribute import ORDINARY, Attribute, find_bits
from tokverify.engine.family import Ranking, Settings
from tokverify.engine.settings import resolve
from tokverify.engine.special_text import EOG_TEXTS, FIM_TEXTS
from tokverify.spec import TokenizerSpec
from tokverify.texts.token_text import is_marker

BEGINNING = ("bos", "cls")
ENDING = ("eos", "eot", "eom", "sep")
PART_BEGINNINGS: Mapping[str, str] = {
    **dict.fromkeys(("<|im_start|>", "<start_of_turn>", "<|start_header_id|>", "<|turn>"), "a turn"),
    "<|startoftranscript|>": "a transcript",
}
"""The tokens that begin a part of a prompt, which is no reason to call them BOS, and what they begin."""
_ROLES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    (
        "<s>",
        "<bos>",
        "<BOS>",
        "<sos>",
        "<SOS>",
        "[BOS]",
        "<|bos|>",
        "<BOS_TOKEN>",
        "<|begin_of_text|>",
        "<|startoftext|>",
        "<｜begin▁of▁sentence｜>",
        "[CLS]",
    ): BEGINNING,
    tuple(PART_BEGINNINGS): BEGINNING,
    ("</s>", "<eos>", "<EOS>", "[EOS]", "<|eos|>", "<EOS_TOKEN>", "<|end_of_text|>", "[SEP]"): ENDING,
    ("<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<|eom_id|>", "<turn|>"): ENDING,
    (
        "<pad>",
        "[PAD]",
        "<|pad|>",
        "<PAD>",
        "<｜▁pad▁｜>",
        "<|finetune_right_pad_id|>",
        "<|finetune_right_pad|>",
    ): ("pad", "fim_pad"),
    ("<unk>", "[UNK]", "<|unk|>", "<UNK>"): ("unk",),
    ("<mask>", "<MASK>", "[MASK]", "<|mask|>"): ("mask",),
}
"""Texts of tokens -> the roles to which such a token belongs. A neutral text such as `<|endoftext|>` fits all."""
ROLES_BY_NAME: Mapping[str, tuple[str, ...]] = {text: roles for texts, roles in _ROLES.items() for text in texts}
"""The same, by text."""
BEGINNINGS = frozenset(text for text, roles in ROLES_BY_NAME.items() if roles == BEGINNING)
"""The texts of tokens that mark a beginning and no end, also of those that are not added to every text."""
NEVER_ENDS: Mapping[str, str] = dict.fromkeys(BEGINNINGS, "marks a beginning") | {
    text: "is named as padding" for text, roles in ROLES_BY_NAME.items() if roles[0] == "pad"
}
"""The texts of tokens that end nothing, with what they are instead."""
_OF_RWKV = {"bos": "<s>", "eos": "<s>", "eot": "\\n\\n"}


def is_conventional(settings: Settings, role: str) -> bool:
    """Check whether llama.cpp's converter gives a role to a token with another meaning on purpose, as for RWKV.

    Source: `_set_vocab_rwkv_world` in llama.cpp's conversion/base.py.
    """
    piece = settings.pieces[settings.special_ids[role]]
    return settings.family.ranking is Ranking.LENGTH and _OF_RWKV.get(role) == piece


def is_special(settings: Settings, id: int) -> bool:
    """Check whether a token is typed or named like a special one."""
    piece = settings.pieces[id]
    return not settings.attributes[id] & ORDINARY or is_marker(piece) or piece in ROLES_BY_NAME


def natural_id(ids: Mapping[str, int], role: str) -> int | None:
    """Return the only token that is named like a role; None if there is none, or more than one."""
    # What begins a turn is no BOS, although it may not end anything either.
    named = [text for text, roles in ROLES_BY_NAME.items() if roles[0] == role and text not in PART_BEGINNINGS]
    found = [ids[text] for text in [*named, *FIM_TEXTS.get(role, ())] if text in ids]
    return found[0] if len(found) == 1 else None


def suggest_id(role: str, ids: Mapping[str, int], controls: Sequence[int]) -> int | None:
    """Return the only token that is named like a role, or for the ends of a text the only control token.

    EOS may also be any control token that ends a generation: llama.cpp knows these, and ends it at all of them.
    """
    named = natural_id(ids, role)
    if named is None and role in {"bos", "eos"} and len(controls) == 1:
        return controls[0]
    if named is None and role == "eos":
        return next((ids[text] for text in EOG_TEXTS if ids.get(text) in set(controls)), None)
    return named


def suggest_end(settings: Settings) -> int | None:
    """Return the token that is named like EOS, or is the only one that can be it."""
    return suggest_id("eos", settings.ids, find_bits(settings.attributes, Attribute.CONTROL))


def declare_end(spec: TokenizerSpec) -> TokenizerSpec:
    """Declare the token that is named like EOS, if none is declared.

    llama.cpp's default is the id of another vocabulary. No file but a GGUF file means that default by its silence.
    """
    if "eos" in spec.valid_special_ids:
        return spec
    settings = resolve(spec)
    end = suggest_end(settings) if "eos" in settings.special_ids else None
    return spec if end is None else replace(spec, special_ids={**spec.special_ids, "eos": end})
