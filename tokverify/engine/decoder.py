"""Decoders: from tokens back to bytes, and from a stream of bytes to whole characters.

Source: `llama_vocab::impl::token_to_piece` and `detokenize` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokverify.engine.attribute import Attribute
from tokverify.engine.byte_level import from_byte_level
from tokverify.engine.family import BYTE_PAIR_ALGORITHMS
from tokverify.engine.models.cpp import spacing as cpp_spacing
from tokverify.engine.models.plamo2 import BYTE_PIECE
from tokverify.engine.models.rwkv import unescape
from tokverify.engine.normalizer import unescape_spaces
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.engine.settings import Settings

VERBATIM = (Attribute.UNKNOWN | Attribute.CONTROL | Attribute.USER_DEFINED).value


def token_bytes(piece: str, attribute: int, settings: Settings) -> bytes:
    """Return the bytes a token stands for in a text; unused and undefined tokens mostly stand for none."""
    return DECODERS.get(settings.algorithm, _piece_bytes)(piece, attribute, settings)


def _piece_bytes(piece: str, attribute: int, settings: Settings) -> bytes:
    if attribute & VERBATIM:
        return to_bytes(piece)
    if attribute & Attribute.NORMAL.value:
        byte_level = settings.algorithm in BYTE_PAIR_ALGORITHMS and not settings.escape_whitespaces
        return from_byte_level(piece) if byte_level else to_bytes(unescape_spaces(piece))
    return bytes([_hex_byte(piece)]) if attribute & Attribute.BYTE.value else b""


def _hex_byte(piece: str) -> int:
    """Read the fourth and fifth byte of a piece as C's `strtol` does, which takes what is no number for zero."""
    match = re.match(rb"[ \t-\r]*([+-]?[0-9A-Fa-f]+)", to_bytes(piece)[3:5])
    return int(match[1], 16) % 256 if match else 0


def _rwkv_bytes(piece: str, _attribute: int, _settings: Settings) -> bytes:
    return unescape(piece)


def _plamo2_bytes(piece: str, attribute: int, _settings: Settings) -> bytes:
    is_byte = attribute & Attribute.BYTE.value and BYTE_PIECE.fullmatch(piece)
    return bytes([int(piece[3:5], 16)]) if is_byte else to_bytes(piece)


def _cpp_hybrid_bytes(piece: str, attribute: int, _settings: Settings) -> bytes:
    return to_bytes(piece) if attribute & VERBATIM else cpp_spacing.piece_bytes(piece)


DECODERS: Mapping[str, Callable[[str, int, Settings], bytes]] = {
    "rwkv": _rwkv_bytes,
    "plamo2": _plamo2_bytes,
    "plamo3": _plamo2_bytes,
    "cpp-hybrid": _cpp_hybrid_bytes,
}
"""Algorithm -> how it decodes a token, where that differs from the usual."""


def clean_up_spaces(decoded: bytes) -> bytes:
    """Remove the spaces that word tokenizers leave before punctuation, as `llama_detokenize` does in three passes."""
    decoded = re.sub(rb" (?=[?!.,])", b"", decoded)
    decoded = re.sub(rb" ' ", b"'", decoded)
    return re.sub(rb" (?='(?:[sm]|re|ve))", b"", decoded)


class IncrementalDecoder:
    """Turns a stream of ids into text, holding back the bytes of a character until it is complete.

    Where spaces go back by rule (`cpp-hybrid`), whole words are held back.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._at_start = True
        self._spacing = cpp_spacing.Spacing() if encoder.settings.algorithm == "cpp-hybrid" else None

    def push(self, id: int) -> str:
        """Take the next id and return the text that is complete with it, often none or more than one character."""
        if self._spacing:
            return self._utf8.decode(self._spacing.push(self._encoder.piece(id), self._encoder.token_bytes(id)))
        token_bytes = self._encoder.decode([id]) if self._at_start else self._encoder.token_bytes(id)
        self._at_start = False
        return self._utf8.decode(token_bytes)

    def finish(self) -> str:
        """Return what is left: the last word, U+FFFD for a character that was never completed."""
        return self._utf8.decode(self._spacing.finish() if self._spacing else b"", final=True)
