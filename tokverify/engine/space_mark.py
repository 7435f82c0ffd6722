"""What stands for a space in stored pieces: `Ġ` in byte-level BPE, `▁` elsewhere."""

from __future__ import annotations

from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet
from tokverify.engine.joined_strings import join
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes

_FEWEST = 3


def count_space_marks(spec: TokenizerSpec) -> dict[str, int]:
    """Count the tokens that begin with each mark of a space."""
    joined = b"\0" + join(spec.tokens)
    return {mark: joined.count(to_bytes(f"\0{mark}")) for mark in "Ġ▁"}


def describe_foreign_spaces(spec: TokenizerSpec) -> str:
    """Return a clause about tokens that begin with a space as another kind of model writes it; empty unless most do."""
    family = find_family(spec.model)
    if family is None or family.alphabet is Alphabet.OWN:
        return ""
    counts = count_space_marks(spec)
    pre = PRE_TOKENIZERS.get(family.pre or spec.pre or "default")
    reads_byte_level = family.alphabet is Alphabet.BYTE_LEVEL and (pre is None or pre.byte_level)
    right, wrong = ("Ġ", "▁") if reads_byte_level else ("▁", "Ġ")
    if counts[wrong] < _FEWEST or counts[wrong] <= counts[right]:
        return ""
    return f"{counts[wrong]:,} tokens begin with {wrong}, and {counts[right]:,} with {right}"
