"""The bytes that a piece of a HuggingFace tokenizer represents, derived from the tokenizer's own stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tokverify.engine.byte_level import byte_alphabet
from tokverify.engine.special_text import BYTE_PIECE

PieceBytes = Callable[[str], bytes]
"""Maps a piece to the bytes that it represents inside a text."""


def piece_bytes(stages: Sequence[dict[str, Any]]) -> PieceBytes:
    """Choose how pieces are decoded, based on the stages of a tokenizer.

    Args:
        stages: The stages of normalizer, pre-tokenizer and decoder as JSON objects, with sequences flattened.
    """
    types = {stage["type"]: stage for stage in stages}
    if "ByteLevel" in types:
        return _byte_level_decoder()
    if "WordPiece" in types:
        return _wordpiece_decoder(types["WordPiece"]["prefix"])
    return _text_decoder(_space_mark(stages), byte_fallback="ByteFallback" in types)


def _space_mark(stages: Sequence[dict[str, Any]]) -> str | None:
    """Return the mark that represents a space, such as `▁`; None if spaces are stored unchanged."""
    for stage in stages:
        if stage["type"] == "Metaspace":
            return str(stage["replacement"])
        if stage["type"] == "Replace" and stage["pattern"] == {"String": " "} and stage["content"]:
            return str(stage["content"])
        if stage["type"] == "Replace" and stage["content"] == " " and "String" in stage["pattern"]:
            return str(stage["pattern"]["String"])
    return None


def _byte_level_decoder() -> PieceBytes:
    bytes_of = {ord(character): byte for byte, character in byte_alphabet().items()}

    def decode(piece: str) -> bytes:
        # A piece with a character outside the alphabet represents itself, as in the library's decoder.
        codes = [bytes_of.get(ord(character)) for character in piece]
        return piece.encode() if None in codes else bytes(code for code in codes if code is not None)

    return decode


def _wordpiece_decoder(prefix: str) -> PieceBytes:
    """Decode a piece that continues a word by its `prefix`; any other begins a word, after a space."""

    def decode(piece: str) -> bytes:
        return piece.removeprefix(prefix).encode() if piece.startswith(prefix) else b" " + piece.encode()

    return decode


def _text_decoder(mark: str | None, *, byte_fallback: bool) -> PieceBytes:
    def decode(piece: str) -> bytes:
        if byte_fallback and (match := BYTE_PIECE.fullmatch(piece)):
            return bytes([int(match[1], 16)])
        return (piece.replace(mark, " ") if mark else piece).encode()

    return decode
