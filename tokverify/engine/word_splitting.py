"""Define where llama.cpp splits words differently from BERT's normalizer and pre-tokenizer in HuggingFace tokenizers.

This concerns a few characters, because HuggingFace uses an older Unicode version. If accents and case are kept, the
additional patterns given here make both do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from tokverify.engine.normalizer import ESCAPED_SPACE, split_at_spaces, word_normalizer

SPACES = "[\v\f\x85]"
"""Characters that llama.cpp treats as spaces and HuggingFace drops."""

DROPPED = "[\u0890\u0891\u08e2\U000110cd\U00013430-\U0001343f]"
"""Characters that llama.cpp drops and HuggingFace keeps."""

PUNCTUATION = (
    "[\u061d\u09fd\u0a76\u0c77\u0c84\u1b7d\u1b7e\u2e43-\u2e4f\u2e52-\u2e5d\U00010ead\U00010f55-\U00010f59"
    "\U00010f86-\U00010f89\U0001144b-\U0001144f\U0001145a\U0001145b\U0001145d\U00011660-\U0001166c\U000116b9"
    "\U0001183b\U00011944-\U00011946\U000119e2\U00011a3f-\U00011a46\U00011a9a-\U00011a9c\U00011a9e-\U00011aa2"
    "\U00011b00-\U00011b09\U00011c41-\U00011c45\U00011c70\U00011c71\U00011ef7\U00011ef8\U00011f43-\U00011f4f"
    "\U00011fff\U00012ff1\U00012ff2\U00016e97-\U00016e9a\U00016fe2\U0001e95e\U0001e95f]"
)
"""Characters that llama.cpp makes separate words and HuggingFace keeps inside the surrounding word."""

UNEQUAL = (ESCAPED_SPACE, "\u166d", "\U000111c9")
"""Characters that no pattern can make equal: the word prefix, and two that only HuggingFace treats as punctuation.

If they are added tokens, they are removed from the text before this stage.
"""

# The other planes contain only Chinese characters, which are recognized by code point, and unassigned code points.
_PROBED = (range(0xD800), range(0xE000, 0x20000), range(0xE0000, 0xE0200))
_BLOCK = 4096


def first_difference(
    split: Callable[[str], Sequence[str]], *, lowercase: bool, strip_accents: bool, ignored: Sequence[str] = ()
) -> str | None:
    """Return the first character that is treated differently inside a word than by llama.cpp.

    `split` splits a text into words. The characters in `ignored` are not tried.
    """
    normalize = word_normalizer(lowercase=lowercase, strip_accents=strip_accents)
    characters = [character for character in map(chr, chain(*_PROBED)) if character not in ignored]

    def differs(block: Sequence[str]) -> bool:
        text = "\n".join(f"a{character}b" for character in block)
        return list(split(text)) != split_at_spaces(normalize(text))

    for start in range(0, len(characters), _BLOCK):
        block = characters[start : start + _BLOCK]
        if differs(block):
            return next(character for character in block if differs([character]))
    return None
