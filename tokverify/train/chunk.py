"""Chunks that are short enough to learn from: each merge goes through the whole of every chunk that it occurs in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers.pre_tokenizers import PreTokenizer

LONGEST = 256


def in_short_chunks(pre_tokenizer: PreTokenizer) -> PreTokenizer:
    """Return a pre-tokenizer that also cuts after 256 characters; a chunk of a megabyte would take minutes."""
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Sequence, Split

    return Sequence([pre_tokenizer, Split(Regex(f"[\\s\\S]{{1,{LONGEST}}}"), "isolated")])
