"""Decode a stream of ids to text, and clean decoded text up as llama.cpp does.

Source: `llama_vocab::impl::detokenize` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from tokverify.engine.family import PieceJoiner
    from tokverify.engine.native import NativeStream


def clean_up_spaces(decoded: bytes) -> bytes:
    """Remove the spaces that word tokenizers leave before punctuation, in the three passes of `llama_detokenize`."""
    decoded = re.sub(rb" (?=[?!.,])", b"", decoded)
    decoded = re.sub(rb" ' ", b"'", decoded)
    return re.sub(rb" (?='(?:[sm]|re|ve))", b"", decoded)


def join_pieces(joiner: PieceJoiner, pieces: Iterable[tuple[str, bytes]]) -> bytes:
    """Join all pieces of a text, each given with the bytes that it represents."""
    parts = [joiner.push(piece, token_bytes) for piece, token_bytes in pieces]
    return b"".join(parts) + joiner.finish()


class TokenDecoder(Protocol):
    """What an `IncrementalDecoder` needs to know about tokens."""

    def piece(self, id: int) -> str:
        """Return the stored string of a token."""

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents inside a text."""

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode the ids of a whole text."""


class IncrementalDecoder:
    """Decode a stream of ids to text, holding back the bytes of a character until it is complete.

    With a `joiner`, whole words are held back. The native engine decodes if its `stream` is given.
    """

    def __init__(
        self, tokens: TokenDecoder, joiner: PieceJoiner | None = None, stream: NativeStream | None = None
    ) -> None:
        self._tokens = tokens
        self._joiner = joiner
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._at_start = True

    def push(self, id: int) -> str:
        """Take the next id; return the text that is complete with it, often none or more than one character."""
        if self._stream:
            text = self._stream.push(id)
            return self._refuse(id) if text is None else text
        if self._joiner:
            return self._utf8.decode(self._joiner.push(self._tokens.piece(id), self._tokens.token_bytes(id)))
        token_bytes = self._tokens.decode([id]) if self._at_start else self._tokens.token_bytes(id)
        self._at_start = False
        return self._utf8.decode(token_bytes)

    def _refuse(self, id: int) -> NoReturn:
        """Let the Python engine report what is wrong with an id."""
        self._tokens.token_bytes(id)
        raise RuntimeError("only the native engine fails to decode this id")

    def finish(self) -> str:
        """Return the remaining text, with U+FFFD for a character that was never completed."""
        if self._stream:
            return self._stream.finish()
        return self._utf8.decode(self._joiner.finish() if self._joiner else b"", final=True)
