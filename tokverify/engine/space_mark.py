"""What stands for a space in stored pieces: `Ġ` in byte-level BPE, `▁` elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from tokverify.engine.families import find_family
from tokverify.engine.family import Alphabet, Family
from tokverify.engine.joined_strings import join
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS
from tokverify.spec import TokenizerSpec
from tokverify.text.utf8 import to_bytes

_FEWEST = 3


def count_space_marks(spec: TokenizerSpec, marks: Iterable[str] = ("Ġ", "▁")) -> dict[str, int]:
    """Count the tokens that begin with each mark of a space."""
    joined = b"\0" + join(spec.tokens)
    return {mark: joined.count(to_bytes(f"\0{mark}")) for mark in marks}


def describe_foreign_spaces(spec: TokenizerSpec) -> str:
    """Return a clause about tokens that begin with a space as another kind of model writes it; empty unless most do."""
    family = find_family(spec.model)
    if family is None or (family.alphabet is Alphabet.OWN and not family.splits_words):
        return ""
    right, wrong = _marks(family, spec)
    counts = count_space_marks(spec, (right, wrong))
    if counts[wrong] < _FEWEST or counts[wrong] <= counts[right]:
        return ""
    return f"{counts[wrong]:,} tokens begin with {wrong}, and {counts[right]:,} with {right}"


def _marks(family: Family, spec: TokenizerSpec) -> tuple[str, str]:
    """Return how the family marks a space, and how another one does."""
    if family.splits_words:
        # What a vocab.txt marks instead is the inside of a word.
        return "▁", "##"
    pre = PRE_TOKENIZERS.get(family.pre or spec.pre or "default")
    reads_byte_level = family.alphabet is Alphabet.BYTE_LEVEL and (pre is None or pre.byte_level)
    return ("Ġ", "▁") if reads_byte_level else ("▁", "Ġ")
