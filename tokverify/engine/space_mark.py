"""What stands for a space in stored pieces: `Ġ` in byte-level BPE, `▁` elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.spec import TokenizerSpec

_FEWEST = 3


@dataclass(frozen=True, slots=True)
class ForeignSpaces:
    """The tokens that begin with a space as another kind of model writes it, which are more than the right ones."""

    mark: str
    count: int
    right_mark: str
    right_count: int

    def __str__(self) -> str:
        """Return a clause about them."""
        return f"{self.count:,} tokens begin with {self.mark}, and {self.right_count:,} with {self.right_mark}"


def find_foreign_spaces(spec: TokenizerSpec) -> ForeignSpaces | None:
    """Return how a vocabulary writes a space if that is not how its model does."""
    family = find_family(spec.model)
    if family is None or family.alphabet is Alphabet.OWN:
        return None
    joined = "\0" + "\0".join(spec.tokens)
    counts = {mark: joined.count(f"\0{mark}") for mark in "Ġ▁"}
    pre = PRE_TOKENIZERS.get(family.pre or spec.pre or "default")
    reads_byte_level = family.alphabet is Alphabet.BYTE_LEVEL and (pre is None or pre.byte_level)
    right, wrong = ("Ġ", "▁") if reads_byte_level else ("▁", "Ġ")
    if counts[wrong] < _FEWEST or counts[wrong] <= counts[right]:
        return None
    return ForeignSpaces(wrong, counts[wrong], right, counts[right])
