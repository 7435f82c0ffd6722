"""Whitespace: byte-pair encoding of the words between spaces, which are dropped.

Source: `llm_tokenizer_whitespace_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.engine.models.memory import Memory
from tokverify.engine.normalizer import lowercase_normalizer, split_at_spaces
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, PreToken, Word, shifted

if TYPE_CHECKING:
    from tokverify.engine.models.bpe import Bpe


class Whitespace:
    """Encodes texts; `bpe` encodes each word, in lower case if asked to."""

    def __init__(self, bpe: Bpe, *, lowercase: bool) -> None:
        self._bpe = bpe
        self._normalize = lowercase_normalizer() if lowercase else str
        self._memory = Memory(self._encode_word)

    def encode(self, text: str) -> list[int]:
        """Encode `text`; bytes that no token stands for are dropped, as llama.cpp does."""
        return list(chain.from_iterable(map(self._memory.__getitem__, split_at_spaces(text))))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text`, noting how; spaces are dropped."""
        rewriting = Rewriting()
        place = 0
        words: list[Word] = []
        pre_tokens: list[PreToken] = []
        for word in split_at_spaces(text):
            begin = text.index(word, place)
            rewriting.replace(text[place:begin], "", noted=False)
            start = len(rewriting.result)
            for character in word:
                rewriting.replace(character, self._normalize(character))
            traced = self._bpe.trace(self._normalize(word))
            words += (shifted(found, start, len(pre_tokens)) for found in traced.words)
            pre_tokens += (
                replace(found, start=found.start + start, end=found.end + start) for found in traced.pre_tokens
            )
            place = begin + len(word)
        rewriting.replace(text[place:], "", noted=False)
        return ModelTrace(rewriting, tuple(words), tuple(pre_tokens))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        return tuple(self._bpe.encode(self._normalize(word)))
