"""Build sentencepiece .model files: byte by byte, including invalid ones, or by training on a few words."""

import struct
from collections.abc import Iterable

from tokverify.train.sentencepiece import train_sentencepiece

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)

_TEXT = "the red fox sees the other fox and a fox is no hen then there were nine new houses héron été"
WORDS = _TEXT.split()

Fields = dict[int, int | float | bytes]


def make_model(
    pieces: Iterable[tuple[str | bytes, float, int]], trainer: Fields | None = None, normalizer: Fields | None = None
) -> bytes:
    """Build a file from pieces with score and type, and from fields by number."""
    parts = [_field(1, _message({1: _bytes(piece), 2: float(score), 3: type})) for piece, score, type in pieces]
    return b"".join([*parts, _field(2, _message(trainer or {})), _field(3, _message(normalizer or {}))])


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _message(fields: Fields) -> bytes:
    return b"".join(_field(number, value) for number, value in fields.items())


def _field(number: int, value: float | bytes) -> bytes:
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def train_model(*, vocab_size: int, **options: object) -> bytes:
    """Train a model on `WORDS`."""
    lines = [" ".join(WORDS[start:] + WORDS[:start]) for start in range(len(WORDS))]
    return train_sentencepiece(lines, vocab_size=vocab_size, hard_vocab_limit=False, **options)
