"""Encode with hybrid DNA: byte-pair encoding, and between `<dna>` and `</dna>` one token for every six bases.

The last bases are padded with `A`. A k-mer such as `CCCCCC` can also be an ordinary piece, so a GGUF file stores it
followed by a marker. Other k-mers become `<oov>`.

Source: `llm_tokenizer_hybriddna_session` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from tokverify.engine.rewriting import Rewriting
from tokverify.engine.special_text import KMER_MARKER
from tokverify.engine.trace import ModelTrace, PreToken, Taken, Whole, Word, shift, shift_pre_token
from tokverify.text.utf8 import decode_leniently, to_bytes

if TYPE_CHECKING:
    from tokverify.engine.models.bpe import Bpe

OPEN = "<dna>"
CLOSE = "</dna>"
OUT_OF_VOCABULARY = "<oov>"
BASES = 6


class HybridDna:
    """Encodes texts; `bpe` encodes what is not DNA, and everything if the vocabulary lacks one of the three DNA tokens.

    subtle: if a file declares `<dna>` as an added token, the text has already been split there, and nothing is treated
    as DNA.
    """

    def __init__(self, ids: Mapping[str, int], bpe: Bpe, *, overlong: bool = False) -> None:
        self._overlong = overlong
        self._ids = ids
        self._bpe = bpe
        self._knows_dna = {OPEN, CLOSE, OUT_OF_VOCABULARY} <= ids.keys()

    def encode(self, text: str) -> list[int]:
        """Encode `text`; bytes outside DNA that no token represents are dropped, as in llama.cpp."""
        return self._encode(text, self._bpe.encode)

    def encode_cut(self, text: str) -> list[int]:
        """Encode `text` with lone bytes, which are kept inside DNA."""
        return self._encode(
            text, lambda plain: self._bpe.encode(decode_leniently(to_bytes(plain), overlong=self._overlong))
        )

    def _encode(self, text: str, encode_plain: Callable[[str], list[int]]) -> list[int]:
        if not self._knows_dna:
            return encode_plain(text)
        ids: list[int] = []
        rest = text
        while rest:
            plain, opened, rest = rest.partition(OPEN)
            ids += encode_plain(plain)
            if opened:
                dna, closed, rest = rest.partition(CLOSE)
                ids += [self._ids[OPEN], *self._encode_dna(dna), *([self._ids[CLOSE]] if closed else [])]
        return ids

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; every six bases are a word."""
        if not self._knows_dna:
            return self._bpe.trace(text)
        words: list[Word] = []
        pre_tokens: list[PreToken] = []
        rewriting = Rewriting()
        rest = text
        while rest:
            plain, opened, rest = rest.partition(OPEN)
            traced = self._bpe.trace(plain)
            start = rewriting.size
            words += (shift(word, start, len(pre_tokens)) for word in traced.words)
            pre_tokens += (shift_pre_token(pre_token, start) for pre_token in traced.pre_tokens)
            rewriting.extend(traced.rewriting)
            if opened:
                dna, closed, rest = rest.partition(CLOSE)
                words += self._trace_dna(dna, rewriting.size, closed=bool(closed))
                rewriting.keep(opened + dna + closed)
        return ModelTrace(rewriting, tuple(words), tuple(pre_tokens))

    def _trace_dna(self, dna: str, start: int, *, closed: bool) -> Iterator[Word]:
        ids = [self._ids[OPEN], *self._encode_dna(dna), *([self._ids[CLOSE]] if closed else [])]
        data = dna.encode()
        kmers = [data[index : index + BASES] for index in range(0, len(data), BASES)]
        parts = [OPEN.encode(), *kmers, *([CLOSE.encode()] if closed else [])]
        for id, part in zip(ids, parts, strict=True):
            end = start + len(part)
            yield Word(start, end, (Taken(id, start, end),), Whole("DNA is looked up six bases at a time"))
            start = end

    def _encode_dna(self, dna: str) -> list[int]:
        # Bytes, because six bytes can be fewer characters; and only ASCII is converted to uppercase.
        bases = to_bytes(dna).upper()
        kmers = (bases[start : start + BASES].ljust(BASES, b"A") for start in range(0, len(bases), BASES))
        pieces = (kmer.decode("utf-8", "surrogateescape") + KMER_MARKER for kmer in kmers)
        return [self._ids.get(piece, self._ids[OUT_OF_VOCABULARY]) for piece in pieces]
