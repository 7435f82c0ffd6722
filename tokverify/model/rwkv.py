r"""RWKV: the "world" tokenizer, which takes the longest token at each place of the text, from left to right.

Tokens are bytes, and may begin or end inside a character; a GGUF file writes them escaped, as a Python literal would
(`\n`, `\xe4`). There are no merges and no scores.

Source: `llm_tokenizer_rwkv_session` and `llama_unescape_rwkv_token` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from itertools import chain, filterfalse, pairwise
from typing import TYPE_CHECKING

from tokverify.errors import BrokenFileError, EncodeError
from tokverify.model.boundary import CUT, PartSplitter, word_splitter
from tokverify.model.longest import LongestPiece
from tokverify.model.memory import Memory
from tokverify.rewriting import unchanged
from tokverify.trace import Matching, ModelTrace, Taken, Word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ASCII = range(0x80)
_ESCAPES = {ord("t"): 0x09, ord("n"): 0x0A, ord("r"): 0x0D}


class Rwkv:
    """Encodes texts; `unknown_id` stands for a byte that no token begins with.

    Raises:
        BrokenFileError: If llama.cpp never finishes loading such a vocabulary.
    """

    def __init__(self, ids: Mapping[str, int], unknown_id: int) -> None:
        tokens = {unescape(piece): id for piece, id in ids.items()}
        tokens.pop(b"", None)
        self._longest = LongestPiece(tokens)
        self._unknown_id = unknown_id
        splitter = _PartSplitter(tokens)
        self._words = splitter.words()
        self._parts = splitter.split
        self._word_memory = Memory(self._encode_word)
        self._part_memory = Memory(self._encode_part)
        try:
            self.encode("\n")  # as llama.cpp does when it loads a vocabulary
        except EncodeError as error:
            raise BrokenFileError(f"the vocabulary cannot encode a line feed: {error}") from None

    def encode(self, text: str) -> list[int]:
        """Encode `text`.

        Raises:
            EncodeError: If llama.cpp never finishes encoding it.
        """
        return list(chain.from_iterable(map(self._word_memory.__getitem__, self._words(text))))

    def _encode_word(self, word: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._part_memory.__getitem__, self._parts(word))))

    def trace(self, text: str) -> ModelTrace:
        """Encode `text`, noting how; words are the parts that no token can cross."""
        words: list[Word] = []
        for part in self._parts(text) if text else ():
            words.append(self._trace_part(part.encode(), words[-1].end if words else 0))
        return ModelTrace(unchanged(text), tuple(words))

    def _trace_part(self, part: bytes, shift: int) -> Word:
        attempts = []
        tokens = []
        start = 0
        while start < len(part):
            attempts.append(self._longest.attempt(part, start))
            id, end = self._longest.at(part, start) or self._unknown(part, start)
            tokens.append(Taken(id, shift + start, shift + end))
            start = end
        return Word(shift, shift + len(part), tuple(tokens), Matching(tuple(attempts)))

    def _encode_part(self, part: str) -> tuple[int, ...]:
        rest = part.encode()
        ids = []
        start = 0
        while start < len(rest):
            id, start = self._longest.at(rest, start) or self._unknown(rest, start)
            ids.append(id)
        return tuple(ids)

    def _unknown(self, rest: bytes, start: int) -> tuple[int, int]:
        # subtle: where tokens begin as the text does but none ends, llama.cpp goes back to the beginning of the text,
        # again and again until the memory is used up.
        if self._longest.begins(rest[start]):
            raise EncodeError(
                f"some tokens begin with the byte 0x{rest[start]:02X}, but none fits at "
                f"{rest[start : start + 12].decode(errors='replace')!r}; llama.cpp never finishes here"
            )
        return self._unknown_id, start + 1


def unescape(piece: str) -> bytes:
    r"""Return the bytes that a stored token stands for: `\t`, `\n`, `\r` and `\xNN` are known, `\` quotes the rest.

    subtle: llama.cpp takes any two bytes after `\x` for hexadecimal digits, and computes with them modulo 256.
    """
    stored = iter(piece.encode("utf-8", "surrogateescape"))
    unescaped = bytearray()
    for byte in stored:
        escaped = next(stored, None) if byte == ord("\\") else None
        if escaped == ord("x"):
            high, low = next(stored, None), next(stored, None)
            if high is not None and low is not None:
                unescaped.append((_digit(high) * 16 + _digit(low)) % 256)
        elif escaped is not None:
            unescaped.append(_ESCAPES.get(escaped, escaped))
        elif byte != ord("\\"):
            unescaped.append(byte)
    return bytes(unescaped)


def _digit(byte: int) -> int:
    # llama.cpp compares signed bytes, so that those from 0x80 on count as less than `a`.
    return byte - ord("a") + 10 if byte in ASCII and byte >= ord("a") else byte - ord("0")


def _begins(byte: int) -> bool:
    """Whether a character of UTF-8 can begin with `byte`."""
    return byte & 0xC0 != 0x80  # noqa: PLR2004 - the two bits that mark all but the first


class _PartSplitter(PartSplitter):
    """Cuts a text where no token goes on from one character to the next, tokens that cut characters included."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        texts: list[str] = []
        self._byte_pairs: set[tuple[int, int]] = set()
        for token in tokens:
            try:
                texts.append(token.decode())
            except UnicodeDecodeError:
                self._byte_pairs.update((first, second) for first, second in pairwise(token) if _begins(second))
        self._characters = set("".join(texts))
        super().__init__({first + second for text in texts for first, second in pairwise(text)})

    def words(self) -> Callable[[str], list[str]]:
        """Return the function that cuts a text at few, but easily found places, where `split` would cut it too."""
        pairs = set(self)
        for first, second in self._byte_pairs:
            # What such a token goes on to is not known: it may be any character that the byte begins or ends.
            ends = [chr(first)] if first in ASCII else [*filterfalse(str.isascii, self._characters)]
            if first not in ASCII and second == ord(" "):
                return lambda text: [text] if text else []
            pairs.update(end + (" " if second == ord(" ") else CUT) for end in ends)
        return word_splitter(pairs, self._characters, " ")

    def __missing__(self, pair: str) -> str:
        if (pair[0].encode()[-1], pair[1].encode()[0]) not in self._byte_pairs:
            return super().__missing__(pair)
        if len(self) < self.ENTRIES:
            self[pair] = pair[1]
        return pair[1]
