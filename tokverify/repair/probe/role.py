"""Assign roles to special tokens: those that are added around a text by their ids, others by their texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.families import find_family

if TYPE_CHECKING:
    from tokverify.repair.probe.tokens import ProbedTokens

_TEXTS: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[CLS]", "<cls>", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "<|end_of_text|>", "[EOS]", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]", "<UNK>"),
    "sep": ("[SEP]", "<sep>"),
    "pad": ("<pad>", "[PAD]", "<|pad|>", "<|padding|>", "<PAD>"),
    "mask": ("<mask>", "[MASK]", "<MASK>"),
}
"""Role -> the texts that usually have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The ids of special tokens by role."""

    revealed: Mapping[str, int]
    """By ids: the tokens that are added around a text, and the unknown token if a text can produce it."""
    assumed: Mapping[str, int]
    """By their texts alone."""
    declared: Mapping[str, int]
    """By the reference."""

    @property
    def all(self) -> dict[str, int]:
        """All roles; what ids reveal takes precedence."""
        return {**self.assumed, **self.declared, **self.revealed}


def find_roles(model: str, tokens: ProbedTokens, declared: Mapping[str, int], texts: Sequence[str | None]) -> Roles:
    """Find the roles of the special tokens of a tokenizer of the family `model`."""
    revealed = {} if tokens.unknown is None else {"unk": tokens.unknown}
    around = tokens.around
    if around and len(around.before) == 1:
        revealed["bos"] = around.before[0]
    if around and len(around.after) == 1:
        family = find_family(model)
        revealed[family.closing_role if family else "eos"] = around.after[0]
    special = sorted(id for id, token in tokens.added_tokens.items() if token.special)
    known = {role: id for role, id in declared.items() if role in _TEXTS}
    assumed: dict[str, int] = {}
    for role, usual in _TEXTS.items():
        # If there are several, the first one in the vocabulary has the role, and the others are ordinary markup.
        found = [id for id in special if texts[id] in usual]
        if found and role not in revealed and role not in known:
            assumed[role] = found[0]
    return Roles(revealed=revealed, assumed=assumed, declared=known)
