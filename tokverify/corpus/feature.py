"""Find features of a text beyond its tokens: alternatives of the pre-tokenizer that match, and scripts that meet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tokverify.corpus.script_pair import find_script_pairs
from tokverify.engine.encoder import Encoder
from tokverify.engine.pre_token import trace_pre_tokens
from tokverify.engine.pre_tokenizer import PRE_TOKENIZERS

if TYPE_CHECKING:
    from tokverify.engine.pre_tokenizer import PreTokenizer
    from tokverify.tokenizer import Tokenizer

UNMATCHED = "between matches"
"""Stands for the text that no alternative matches."""

BRANCH = "the pre-tokenizer's alternative "
SCRIPTS = "the scripts "

_PRE_TOKENS = 2
_CHARACTERS = 6


def pre_tokenizer_of(tokenizer: Tokenizer) -> PreTokenizer | None:
    """Return the pre-tokenizer, if the tokenizer has one and shows it."""
    if isinstance(tokenizer, Encoder) and tokenizer.settings.family.uses_pre_tokenizer:
        return PRE_TOKENIZERS.get(tokenizer.settings.pre)
    return None


def find_branches(pre_tokenizer: PreTokenizer, text: str) -> set[str]:
    """Return the alternatives of the patterns that match in a text."""
    hits = {pre_token.hit for _, pre_token in trace_pre_tokens(pre_tokenizer, text)}
    return {hit.alternative or UNMATCHED for hit in hits if hit}


def find_features(pre_tokenizer: PreTokenizer | None, text: str) -> set[str]:
    """Return the features of a text as texts for people."""
    branches = find_branches(pre_tokenizer, text) if pre_tokenizer else set()
    return {*map(BRANCH.__add__, branches), *map(SCRIPTS.__add__, find_script_pairs(text))}


def locate_branches(pre_tokenizer: PreTokenizer, text: str) -> Iterator[tuple[str, str]]:
    """Yield the features of a text that are alternatives, from its beginning, each with the pre-tokens around it."""
    traced = trace_pre_tokens(pre_tokenizer, text)
    chunks = [chunk for chunk, _ in traced]
    for index, (_, pre_token) in enumerate(traced):
        if pre_token.hit:
            around = chunks[max(0, index - _PRE_TOKENS) : index + _PRE_TOKENS + 1]
            yield BRANCH + (pre_token.hit.alternative or UNMATCHED), "".join(around)


def locate_script_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the features of a text that are pairs of scripts, from its beginning, each with the text around it."""
    for index, (left, right) in enumerate(pairwise(text)):
        if not (left.isascii() and right.isascii()):
            for pair in find_script_pairs(left + right):
                yield SCRIPTS + pair, text[max(0, index - _CHARACTERS) : index + _CHARACTERS]
