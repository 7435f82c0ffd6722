"""Encode with BPE: byte-pair encoding by merge rank, as introduced by GPT-2.

Each pre-token is split into characters: of the byte-level alphabet, or of the text itself. Of all adjacent pairs in the
merge list, the pair listed first is merged, its leftmost occurrence first, until no pair is listed.

Source: `llm_tokenizer_bpe_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby

from tokverify.engine.byte_level import spell_bytes, to_byte_level
from tokverify.engine.models.boundary import split_parts
from tokverify.engine.models.merge import merge
from tokverify.engine.models.merge_trace import MergeRules, trace_word
from tokverify.engine.pre_token import trace_pre_tokens
from tokverify.engine.pre_tokenizer import PreTokenizer, Splitter, splitter
from tokverify.engine.rewriting import Rewriting
from tokverify.engine.trace import ModelTrace, Taken, Whole, Word
from tokverify.errors import EncodeError
from tokverify.text.utf8 import encode_leniently, to_bytes
from tokverify.text.wording import short_repr


class Bpe:
    """Encodes texts; `merges` are in order of rank, each a pair joined by a space."""

    def __init__(self, ids: Mapping[str, int], merges: Sequence[str], pre_tokenizer: PreTokenizer) -> None:
        self._ids = ids
        self._ranks = _ranks(merges)
        self._missing: str | None = None
        self._fuse_missing = False
        self._use(pre_tokenizer)

    def _use(self, pre_tokenizer: PreTokenizer, split: Splitter | None = None) -> None:
        self._pre_tokenizer = pre_tokenizer
        self._pre_tokens = split or splitter(pre_tokenizer)
        # Another tokenizer may split the bytes of a character; llama.cpp reads surrogates instead.
        self._to_byte_level = _spell_lone_bytes if split else to_byte_level

    def with_pre_tokenizer(
        self,
        pre_tokenizer: PreTokenizer,
        split: Splitter | None = None,
        hidden: Collection[int] = (),
        *,
        missing: str | None = None,
        fuse_missing: bool = False,
    ) -> Bpe:
        """Return the same model with another pre-tokenizer, sharing the merges, which take most of the setup time.

        `split` replaces the pre-tokenizer's own way of splitting texts; the model does not find `hidden` tokens; it
        takes each character that is no piece for the piece `missing` before it merges, or a run of them for one if
        `fuse_missing`, and drops it if that is empty.
        """
        copied = copy.copy(self)
        copied._missing = missing  # noqa: SLF001
        copied._fuse_missing = fuse_missing  # noqa: SLF001
        if hidden:
            copied._ids = {piece: id for piece, id in self._ids.items() if id not in hidden}  # noqa: SLF001
        copied._use(pre_tokenizer, split)  # noqa: SLF001 - the same class
        return copied

    def encode(self, text: str) -> list[int]:
        """Encode `text`; bytes that no token represents are dropped, as in llama.cpp.

        Raises:
            EncodeError: If a pair to be merged contains a space, for which llama.cpp fails an assertion; only a
                pre-tokenizer that neither maps nor escapes spaces can produce one.
        """
        return list(chain.from_iterable(map(self._encode_pre_token, self._pre_tokens(text))))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; a word is a pre-token, or a part of one that no merge can cross."""
        traced = trace_pre_tokens(self._pre_tokenizer, text)
        words: list[Word] = []
        for index, (chunk, pre_token) in enumerate(traced):
            words += self._trace(chunk, pre_token.start, index)
        rewriting = _trace_inserted_spaces(text, [chunk for chunk, _ in traced])
        return ModelTrace(rewriting, tuple(words), tuple(pre_token for _, pre_token in traced))

    @cached_property
    def _pairs(self) -> set[str]:
        return {_pair(merge) for merge in self._ranks}

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
        for part in split_parts(word, self._pairs):
            traced = trace_word(part, start, rules, index)
            yield traced
            start = traced.end

    def _spellings(self, symbol: str) -> list[int | None]:
        return [self._ids.get(self._spell(byte)) for byte in encode_leniently(symbol)]

    def _encode_pre_token(self, pre_token: str) -> tuple[int, ...]:
        word = self._to_byte_level(pre_token) if self._pre_tokenizer.byte_level else pre_token
        if self._is_whole(word) and word in self._ids:
            return (self._ids[word],)
        symbols = list(word)
        if self._missing is not None:
            symbols = list(self._replace_missing(symbols, self._missing))
        if " " in symbols and len(symbols) > 1:
            raise EncodeError(f"the pre-token {short_repr(word)} contains a space; llama.cpp aborts on such a text")
        return tuple(chain.from_iterable(map(self._symbol_ids, merge(symbols, self._ranks, " "))))

    def _replace_missing(self, symbols: Iterable[str], missing: str) -> Iterator[str]:
        for is_known, run in groupby(symbols, self._ids.__contains__):
            if is_known:
                yield from run
            elif missing:
                yield from (missing,) if self._fuse_missing else (missing for _ in run)

    def _is_whole(self, word: str) -> bool:
        return self._pre_tokenizer.ignore_merges or (self._pre_tokenizer.newline_pieces and not word.strip("\n"))

    def _symbol_ids(self, symbol: str) -> list[int]:
        id = self._ids.get(symbol)
        if id is not None:
            return [id]
        # subtle: for a byte-level vocabulary, llama.cpp looks up the bytes of the *mapped* symbol, so most of them are
        # not found and are dropped.
        spellings = map(self._spell, encode_leniently(symbol))
        return [self._ids[spelling] for spelling in spellings if spelling in self._ids]

    def _spell(self, byte: int) -> str:
        if self._pre_tokenizer.byte_level:
            return bytes([byte]).decode("utf-8", "surrogateescape")
        return f"<0x{byte:02X}>"


def _spell_lone_bytes(pre_token: str) -> str:
    return spell_bytes(to_bytes(pre_token))


def _trace_inserted_spaces(text: str, pre_tokens: Sequence[str]) -> Rewriting:
    """Record the spaces that a pre-tokenizer inserts before lines."""
    rewriting = Rewriting()
    place = 0
    for pre_token in pre_tokens:
        own = pre_token if text.startswith(pre_token, place) else pre_token[1:]
        rewriting.replace("", pre_token[: len(pre_token) - len(own)])
        rewriting.keep(own)
        place += len(own)
    return rewriting


def _ranks(merges: Sequence[str]) -> dict[str, int]:
    """Map each merge to its rank; if a merge is listed twice, the first one counts.

    subtle: no symbol contains a space, so the stored string with its one space is a safe key, and a merge that does not
    consist of two parts is never looked up.
    """
    return dict(zip(reversed(merges), range(len(merges) - 1, -1, -1), strict=True))


def _pair(merge: str) -> str:
    left, _, right = merge.partition(" ")
    return left[-1] + right[0] if left and right else ""
