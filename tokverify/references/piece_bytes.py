"""Find the bytes that a piece represents, based on the stages of a HuggingFace tokenizer or on all its pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tokverify.engine.byte_level import byte_pieces, read_bytes
from tokverify.engine.special_text import BYTE_PIECE
from tokverify.text.utf8 import to_bytes

PieceBytes = Callable[[str], bytes]
"""Maps a piece to the bytes that it represents inside a text."""

_SPACE = "▁"
_CONTINUATION = "##"
_ALPHABET_SHARE = 0.75
"""How much of the GPT-2 alphabet is in a byte-level vocabulary: some bytes do not occur in UTF-8."""
_FOREIGN_SHARE = 0.05
"""How many pieces of a byte-level vocabulary are outside that alphabet, such as added tokens that are not typed so."""
_CONTINUING_SHARE = 0.01
"""How many of the pieces of a WordPiece vocabulary continue a word."""
_MARKED_SHARE = 0.001
"""How many of the pieces of a sentencepiece vocabulary without pieces for bytes begin with a space, at least."""


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


def recognize_storage(pieces: Sequence[str]) -> PieceBytes | None:
    """Recognize how pieces are stored by what is typical of each way; None if it is none of those known.

    Args:
        pieces: Those of a whole vocabulary, without control and added tokens, which are not stored like the others.
    """
    if _is_byte_level(pieces):
        return _byte_level_decoder()
    marked, continuing, spaced = (_count_beginning(pieces, start) for start in (_SPACE, _CONTINUATION, " "))
    if continuing > max(marked, _CONTINUING_SHARE * len(pieces)):
        return _wordpiece_decoder(_CONTINUATION)
    has_bytes = {"<0x00>", "<0xFF>"} <= set(pieces)
    if marked > spaced and (has_bytes or marked >= _MARKED_SHARE * len(pieces)):
        return _text_decoder(_SPACE, byte_fallback=has_bytes)
    return None


def _is_byte_level(pieces: Sequence[str]) -> bool:
    """Whether pieces contain most of the GPT-2 alphabet, and hardly anything else.

    The vocabulary of a model for many languages contains most of that alphabet, too, but also much else.
    """
    alphabet = frozenset(byte_pieces())
    if len(alphabet.intersection(pieces)) < _ALPHABET_SHARE * len(alphabet):
        return False
    foreign = sum(not alphabet.issuperset(piece) for piece in pieces)
    return foreign <= _FOREIGN_SHARE * len(pieces)


def _count_beginning(pieces: Sequence[str], start: str) -> int:
    return sum(piece.startswith(start) for piece in pieces)


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
    def decode(piece: str) -> bytes:
        spelled = read_bytes(piece)
        # A piece with a character outside the alphabet represents itself, as in the library's decoder.
        return to_bytes(piece) if spelled is None else spelled

    return decode


def _wordpiece_decoder(prefix: str) -> PieceBytes:
    """Decode a piece that continues a word by its `prefix`; any other begins a word, after a space."""

    def decode(piece: str) -> bytes:
        text = piece.removeprefix(prefix) if piece.startswith(prefix) else f" {piece}"
        return to_bytes(text)

    return decode


def _text_decoder(mark: str | None, *, byte_fallback: bool) -> PieceBytes:
    def decode(piece: str) -> bytes:
        if byte_fallback and (match := BYTE_PIECE.fullmatch(piece)):
            return bytes([int(match[1], 16)])
        return to_bytes(piece.replace(mark, " ") if mark else piece)

    return decode
