r"""Encode with RWKV's "world" tokenizer, which takes the longest token at each position, from left to right.

Tokens are bytes and can begin or end inside a character; a GGUF file stores them escaped, like a Python literal (`\n`,
`\xe4`). There are no merges and no scores.

Source: `llm_tokenizer_rwkv_session` and `llama_unescape_rwkv_token` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, product

from tokverify.engine.models.boundary import adjacent_pairs, split_parts
from tokverify.engine.models.longest import LongestPiece
from tokverify.engine.rewriting import unchanged
from tokverify.engine.trace import ModelTrace, Taken, Word
from tokverify.errors import BrokenFileError, EncodeError
from tokverify.report.explain import Matching
from tokverify.text.utf8 import from_utf8, to_bytes

ASCII = range(0x80)
_ESCAPES = {ord("t"): 0x09, ord("n"): 0x0A, ord("r"): 0x0D}


class Rwkv:
    """Encodes texts; `unknown_id` represents a byte that no token begins with.

    Raises:
        BrokenFileError: If llama.cpp never finishes loading such a vocabulary.
    """

    def __init__(self, ids: Mapping[str, int], unknown_id: int) -> None:
        tokens = {unescape(piece): id for piece, id in ids.items()}
        tokens.pop(b"", None)
        self._longest = LongestPiece(tokens)
        self._unknown_id = unknown_id
        self._tokens = tokens
        try:
            self.encode("\n")  # as llama.cpp does when it loads a vocabulary
        except EncodeError as error:
            raise BrokenFileError(f"the vocabulary cannot encode a line feed: {error}") from None

    def encode(self, text: str) -> list[int]:
        """Encode `text`, which may contain lone bytes.

        Raises:
            EncodeError: If llama.cpp never finishes encoding it.
        """
        rest = to_bytes(text)
        ids: list[int] = []
        start = 0
        while start < len(rest):
            id, start = self._longest.at(rest, start) or self._unknown(rest, start)
            ids.append(id)
        return ids

    encode_cut = encode

    @cached_property
    def _pairs(self) -> _Pairs:
        return _Pairs(self._tokens)

    def trace(self, text: str) -> ModelTrace:
        """Encode `text` and record how; words are the parts that no token can cross."""
        words: list[Word] = []
        for part in split_parts(text, self._pairs):
            words.append(self._trace_part(part.encode(), words[-1].end if words else 0))
        return ModelTrace(unchanged(text), tuple(words))

    def trace_cut(self, text: str) -> ModelTrace:
        """Encode `text` with lone bytes and record how, as one word."""
        return ModelTrace(unchanged(text), (self._trace_part(to_bytes(text), 0),))

    def _trace_part(self, part: bytes, shift: int) -> Word:
        attempts = []
        tokens = []
        start = 0
        while start < len(part):
            attempts.append(self._longest.attempt(part, start))
            id, end = self._longest.at(part, start) or self._unknown(part, start)
            tokens.append(Taken(id, shift + start, shift + end))
            start = end
        return Word(shift, shift + len(part), tuple(tokens), Matching(tuple(attempts), complete=True))

    def _unknown(self, rest: bytes, start: int) -> tuple[int, int]:
        # subtle: if tokens begin like the text but none matches, llama.cpp goes back to the beginning of the text,
        # again and again until it runs out of memory.
        if self._longest.begins(rest[start]):
            raise EncodeError(
                f"tokens begin with the byte 0x{rest[start]:02X}, but none matches at "
                f"{rest[start : start + 12].decode(errors='replace')!r}; llama.cpp never finishes here"
            )
        return self._unknown_id, start + 1


def unescape(piece: str) -> bytes:
    r"""Convert a stored token to bytes: `\t`, `\n`, `\r` and `\xNN` are escapes, and `\` quotes other characters.

    subtle: llama.cpp treats any two bytes after `\x` as hexadecimal digits, and computes with them modulo 256.
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
    # llama.cpp compares signed bytes, so those from 0x80 on are less than `a`.
    return byte - ord("a") + 10 if byte in ASCII and byte >= ord("a") else byte - ord("0")


class _Pairs:
    """The pairs of characters between which a token continues; tokens can begin and end inside characters."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        texts, broken = _decode_tokens(tokens)
        crossings = set(chain.from_iterable(map(_crossings, broken)))
        # Crossings from or to a part of a character.
        self._partial = {crossing for crossing in crossings if None in map(from_utf8, crossing)}
        self._whole = adjacent_pairs(texts) | {(left + right).decode() for left, right in crossings - self._partial}

    def __contains__(self, pair: object) -> bool:
        left, right = list(str(pair))
        return pair in self._whole or not self._partial.isdisjoint(product(_tails(left), _heads(right)))


def _decode_tokens(tokens: Iterable[bytes]) -> tuple[list[str], list[bytes]]:
    """Separate tokens that are UTF-8 from those that are not."""
    texts, broken = [], []
    for token in tokens:
        text = from_utf8(token)
        if text is None:
            broken.append(token)
        else:
            texts.append(text)
    return texts, broken


def _crossings(token: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the two characters, or parts of characters, on either side of each boundary inside `token`."""
    starts = [place for place, byte in enumerate(token) if place == 0 or byte & 0xC0 != 0x80]  # noqa: PLR2004 - UTF-8
    for before, start, after in zip(starts, starts[1:], [*starts[2:], len(token)], strict=False):
        yield token[before:start], token[start:after]


def _tails(character: str) -> list[bytes]:
    data = character.encode()
    return [data[start:] for start in range(len(data))]


def _heads(character: str) -> list[bytes]:
    data = character.encode()
    return [data[:end] for end in range(1, len(data) + 1)]
