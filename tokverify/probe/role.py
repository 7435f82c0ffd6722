"""Assign roles to special tokens: those that are added around a text by their ids, others by their texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.engine.families import find_family

if TYPE_CHECKING:
    from tokverify.probe.affix import AddedAround

_TEXTS: Mapping[str, tuple[str, ...]] = {
    "bos": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "[CLS]", "<cls>", "<|endoftext|>"),
    "eos": ("</s>", "<eos>", "<|end_of_text|>", "[EOS]", "<|endoftext|>"),
    "unk": ("<unk>", "[UNK]", "<UNK>"),
    "sep": ("[SEP]", "<sep>"),
    "pad": ("<pad>", "[PAD]", "<|pad|>", "<|padding|>", "<PAD>"),
    "mask": ("<mask>", "[MASK]", "<MASK>"),
}
"""Role -> the texts that usually have it, the most specific first."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The ids of special tokens by role."""

    revealed: Mapping[str, int]
    """By ids: the tokens that are added around a text, and the unknown token if a text can produce it."""
    assumed: Mapping[str, int]
    """By their texts alone."""

    @property
    def all(self) -> dict[str, int]:
        """All roles; what ids reveal takes precedence."""
        return {**self.assumed, **self.revealed}


def find_roles(
    model: str, around: AddedAround | None, unknown: int | None, texts: Sequence[str | None], special: Iterable[int]
) -> Roles:
    """Find the roles of the `special` tokens of a tokenizer of the family `model`."""
    revealed = {} if unknown is None else {"unk": unknown}
    if around and len(around.before) == 1:
        revealed["bos"] = around.before[0]
    if around and len(around.after) == 1:
        family = find_family(model)
        revealed[family.closing_role if family else "eos"] = around.after[0]
    ids = {texts[id]: id for id in sorted(special)}
    found = {role: [ids[text] for text in known if text in ids] for role, known in _TEXTS.items()}
    assumed = {role: ids[0] for role, ids in found.items() if ids and role not in revealed}
    return Roles(revealed, assumed)
