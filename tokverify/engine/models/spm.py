"""Encode with SPM, sentencepiece's byte-pair encoding, which merges the pair whose piece has the highest score.

The text is split into characters. Of all adjacent pairs that form a piece of the vocabulary, the pair whose piece has
the highest score is merged, the leftmost first if scores are equal, until no pair forms a piece. A character that is
not a piece is encoded as byte pieces such as `<0x0A>`.

Source: `llm_tokenizer_spm_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import inf
from operator import neg

from tokverify.engine.models.boundary import adjacent_pairs, split_parts
from tokverify.engine.models.merge import merge
from tokverify.engine.models.merge_trace import MergeRules, convert_symbols, trace_word
from tokverify.engine.models.symbol import steps
from tokverify.engine.rewriting import unchanged
from tokverify.engine.trace import ModelTrace, Word
from tokverify.errors import EncodeError
from tokverify.text.utf8 import to_bytes, to_text


class Spm:
    """Encodes texts whose spaces are already written as `▁`; `ids` and `scores` are in order of the ids."""

    def __init__(self, ids: Mapping[str, int], scores: Sequence[float]) -> None:
        self._ids = ids
        self._costs = dict(zip(ids, _costs(scores), strict=True))

    def encode(self, text: str) -> list[int]:
        """Encode `text`.

        Raises:
            EncodeError: If a character is not a piece and the vocabulary lacks a byte piece for it.
        """
        return self._spell(merge(list(text), self._costs, ""))

    def _spell(self, symbols: Iterable[str]) -> list[int]:
        ids: list[int] = []
        for symbol in symbols:
            id = self._ids.get(symbol)
            if id is None:
                ids.extend(map(self._byte_id, to_bytes(symbol)))
            else:
                ids.append(id)
        return ids

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes.

        subtle: the first byte of a symbol determines its length, whatever follows (`unicode_len_utf8`). Symbols are
        compared as bytes, here one character each, because two of them can complete a character.
        """
        costs, ids = self._in_bytes
        merged = merge([step.decode("latin-1") for step in steps(text)], costs, "")
        spelled = (
            [ids[symbol]] if symbol in ids else map(self._byte_id, symbol.encode("latin-1")) for symbol in merged
        )
        return list(chain.from_iterable(spelled))

    @cached_property
    def _in_bytes(self) -> tuple[dict[str, float], dict[str, int]]:
        """The costs and ids of the pieces, in which each byte is one character."""
        pieces = [to_bytes(piece).decode("latin-1") for piece in self._ids]
        costs = dict(zip(pieces, self._costs.values(), strict=True))
        return costs, dict(zip(pieces, self._ids.values(), strict=True))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how: words are the parts between hard boundaries, which no merge can cross."""
        rules = MergeRules(
            "score", self._costs, "", self._ids, lambda symbol: list(map(self._byte_id, symbol.encode()))
        )
        words: list[Word] = []
        for part in split_parts(text, self._pairs):
            words.append(trace_word(part, words[-1].end if words else 0, rules))
        return ModelTrace(unchanged(text), tuple(words))

    def trace_cut(self, text: str) -> ModelTrace:
        """Encode `text` with lone bytes and record how, as one word."""
        costs, ids = self._in_bytes
        rules = MergeRules(
            "score", costs, "", ids, lambda symbol: list(map(self._byte_id, symbol.encode("latin-1"))), byte_level=True
        )
        word = trace_word([step.decode("latin-1") for step in steps(text)], 0, rules)
        # As text, in which a lone byte is a lone surrogate.
        word = convert_symbols(word, lambda symbol: to_text(symbol.encode("latin-1")))
        return ModelTrace(unchanged(text), (word,))

    @cached_property
    def _pairs(self) -> set[str]:
        return adjacent_pairs(self._ids)

    def _byte_id(self, byte: int) -> int:
        id = self._ids.get(f"<0x{byte:02X}>")
        if id is None:
            id = self._ids.get(bytes([byte]).decode("utf-8", "surrogateescape"))
        if id is None:
            raise EncodeError(f"the vocabulary has no token for the byte 0x{byte:02X}; llama.cpp aborts on such a text")
        return id


def _costs(scores: Sequence[float]) -> Iterable[float]:
    if -inf in scores:
        # subtle: such a piece is still formed, after all others; an infinite cost would exclude it.
        return (min(-score, sys.float_info.max) for score in scores)
    return map(neg, scores)
