"""Encode words between spaces with byte-pair encoding, and drop the spaces.

Source: `llm_tokenizer_whitespace_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from tokverify.engine.normalizer import lowercase_normalizer, split_at_spaces
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, PreToken, Word, shift, shift_pre_token

if TYPE_CHECKING:
    from tokverify.engine.models.bpe import Bpe


class Whitespace:
    """Encodes texts; `bpe` encodes each word, in lowercase if requested."""

    def __init__(self, bpe: Bpe, *, lowercase: bool) -> None:
        self._bpe = bpe
        self._normalize = lowercase_normalizer() if lowercase else str

    def encode(self, text: str) -> list[int]:
        """Encode `text`; bytes that no token represents are dropped, as in llama.cpp."""
        return list(chain.from_iterable(map(self._encode_word, split_at_spaces(text))))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; spaces are dropped."""
        rewriting = Rewriting()
        place = 0
        words: list[Word] = []
        pre_tokens: list[PreToken] = []
        for word in split_at_spaces(text):
            begin = text.index(word, place)
            rewriting.replace(text[place:begin], "", noted=False)
            start = rewriting.size
            normalizing = Rewriting()
            for character in word:
                normalizing.replace(character, self._normalize(character))
            traced = self._bpe.trace(self._normalize(word))
            rewriting.extend(normalizing.then(traced.rewriting))
            words += (shift(traced_word, start, len(pre_tokens)) for traced_word in traced.words)
            pre_tokens += (shift_pre_token(pre_token, start) for pre_token in traced.pre_tokens)
            place = begin + len(word)
        rewriting.replace(text[place:], "", noted=False)
        return ModelTrace(rewriting, tuple(words), tuple(pre_tokens))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        return tuple(self._bpe.encode(self._normalize(word)))
