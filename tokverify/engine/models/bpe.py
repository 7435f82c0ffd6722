"""BPE: byte-pair encoding by merge rank, as GPT-2 introduced it.

Each pre-token is cut into characters: of the byte-level alphabet, or the text's own. Of all adjacent pairs that the
merge list holds, the one listed first is joined, the leftmost of equals first, until no pair is listed.

Source: `llm_tokenizer_bpe_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from tokverify.engine.models.boundary import PartSplitter
from tokverify.engine.models.memory import Memory
from tokverify.engine.models.merge import merge
from tokverify.engine.models.merge_trace import MergeRules, trace_word
from tokverify.engine.pre_token import trace_pre_tokens
from tokverify.engine.pre_tokenizer import splitter, to_byte_level
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, Taken, Whole, Word
from tokverify.errors import EncodeError

if TYPE_CHECKING:
    from tokverify.engine.pre_tokenizer import PreTokenizer


class Bpe:
    """Encodes texts; `merges` are in the order of their ranks, each a pair joined by a space."""

    def __init__(self, ids: Mapping[str, int], merges: Sequence[str], pre_tokenizer: PreTokenizer) -> None:
        self._ids = ids
        self._ranks = _ranks(merges)
        self._parts = PartSplitter({_pair(merge) for merge in self._ranks} - {""}).split
        self._cut_by(pre_tokenizer)

    def _cut_by(self, pre_tokenizer: PreTokenizer) -> None:
        self._pre_tokenizer = pre_tokenizer
        self._pre_tokens = splitter(pre_tokenizer)
        self._memory = Memory(self._encode_pre_token)
        # subtle: a part is not a pre-token, so rules about whole pre-tokens must not see it.
        self._part_memory = Memory(self._encode_part)

    def with_pre_tokenizer(self, pre_tokenizer: PreTokenizer) -> Bpe:
        """Return the same with another pre-tokenizer; the merges, most of what takes time to set up, are shared."""
        made = copy.copy(self)
        made._cut_by(pre_tokenizer)  # noqa: SLF001 - it is one of this class
        return made

    def encode(self, text: str) -> list[int]:
        """Encode `text`; bytes that no token stands for are dropped, as llama.cpp does.

        Raises:
            EncodeError: If a pair to be joined holds a space, which llama.cpp asserts against; only a pre-tokenizer
                that neither maps nor escapes spaces lets one through.
        """
        return list(chain.from_iterable(map(self._memory.__getitem__, self._pre_tokens(text))))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text`, noting how; a word is a pre-token, or a part of one that no merge can cross."""
        cut = trace_pre_tokens(self._pre_tokenizer, text)
        words = [
            word for index, (chunk, pre_token) in enumerate(cut) for word in self._trace(chunk, pre_token.start, index)
        ]
        rewriting = _rewritten(text, [chunk for chunk, _ in cut])
        return ModelTrace(rewriting, tuple(words), tuple(pre_token for _, pre_token in cut))

    def _trace(self, pre_token: str, start: int, index: int) -> Iterator[Word]:
        byte_level = self._pre_tokenizer.byte_level
        word = to_byte_level(pre_token) if byte_level else pre_token
        if self._is_whole(word) and word in self._ids:
            end = start + len(pre_token.encode())
            reason = "pre-tokens that are pieces are taken whole"
            reason = reason if self._pre_tokenizer.ignore_merges else "runs of newlines that are pieces are taken whole"
            yield Word(start, end, (Taken(self._ids[word], start, end),), Whole(reason), index)
            return
        rules = MergeRules("rank", self._ranks, " ", self._ids, self._spellings, byte_level)
        for part in self._parts(word):
            traced = trace_word(part, start, rules, index)
            yield traced
            start = traced.end

    def _spellings(self, symbol: str) -> list[int | None]:
        return [self._ids.get(self._spell(byte)) for byte in symbol.encode()]

    def _encode_pre_token(self, pre_token: str) -> tuple[int, ...]:
        word = to_byte_level(pre_token) if self._pre_tokenizer.byte_level else pre_token
        if self._is_whole(word) and word in self._ids:
            return (self._ids[word],)
        if " " in word and len(word) > 1:
            raise EncodeError(f"a space inside the pre-token {word!r}; llama.cpp aborts on such a text")
        return tuple(chain.from_iterable(map(self._part_memory.__getitem__, self._parts(word))))

    def _encode_part(self, part: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._symbol_ids, merge(list(part), self._ranks, " "))))

    def _is_whole(self, word: str) -> bool:
        return self._pre_tokenizer.ignore_merges or (self._pre_tokenizer.newline_pieces and not word.strip("\n"))

    def _symbol_ids(self, symbol: str) -> list[int]:
        id = self._ids.get(symbol)
        if id is not None:
            return [id]
        # subtle: for a byte-level vocabulary llama.cpp looks the bytes of the *mapped* symbol up, so most of them are
        # not found and dropped.
        spellings = map(self._spell, symbol.encode())
        return [self._ids[spelling] for spelling in spellings if spelling in self._ids]

    def _spell(self, byte: int) -> str:
        if self._pre_tokenizer.byte_level:
            return bytes([byte]).decode("utf-8", "surrogateescape")
        return f"<0x{byte:02X}>"


def _rewritten(text: str, pre_tokens: Sequence[str]) -> Rewriting:
    """Note what pre-tokens have that the text has not: a space before a line."""
    rewriting = Rewriting()
    place = 0
    for pre_token in pre_tokens:
        own = pre_token if text.startswith(pre_token, place) else pre_token[1:]
        rewriting.replace("", pre_token[: len(pre_token) - len(own)])
        rewriting.keep(own)
        place += len(own)
    return rewriting


def _ranks(merges: Sequence[str]) -> dict[str, int]:
    """Map each merge to its rank; of a merge listed twice the first counts.

    subtle: no symbol holds a space, so the stored string with its one space is itself a safe key, and a merge that does
    not consist of two parts is never looked up.
    """
    return dict(zip(reversed(merges), range(len(merges) - 1, -1, -1), strict=True))


def _pair(merge: str) -> str:
    left, _, right = merge.partition(" ")
    return left[-1] + right[0] if left and right else ""
