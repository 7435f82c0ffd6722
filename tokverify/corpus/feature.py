"""Find features of a text beyond its tokens: alternatives of the pre-tokenizer that match, and scripts that meet."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tokverify.corpus.branch import find_branches
from tokverify.corpus.script_pair import find_script_pairs
from tokverify.engine.pre_tokenizer import PreTokenizer

BRANCH = "the pre-tokenizer's alternative "
SCRIPTS = "the scripts "

_CHARACTERS = 6


def find_features(pre_tokenizer: PreTokenizer | None, text: str) -> set[str]:
    """Return the features of a text as texts for people."""
    branches = find_branches(pre_tokenizer, text) if pre_tokenizer else set()
    return {*map(BRANCH.__add__, branches), *map(SCRIPTS.__add__, find_script_pairs(text))}


def locate_script_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield the features of a text that are pairs of scripts, from its beginning, each with the text around it."""
    for index, (left, right) in enumerate(pairwise(text)):
        if not (left.isascii() and right.isascii()):
            for pair in find_script_pairs(left + right):
                yield SCRIPTS + pair, text[max(0, index - _CHARACTERS) : index + _CHARACTERS]
