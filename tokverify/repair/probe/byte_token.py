"""Find the tokens that represent single bytes, with which some families encode characters outside the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping

from tokverify.engine.special_text import BYTE_PIECE
from tokverify.repair.probe.vocabulary import BYTES, Vocabulary
from tokverify.texts.batch import Queries

RARE = ("\ua66e", "\U00012219", "\U00013080", "\U0001d80a", "\ua9c5")
"""Characters that hardly any vocabulary contains."""


def find_byte_tokens(queries: Queries, vocabulary: Vocabulary) -> Mapping[int, int]:
    """Map the ids of byte tokens to their bytes; empty if each byte has only one token, as in byte-level vocabularies.

    A byte token is recognized by its stored string, or because another token represents the same character.
    """
    if vocabulary.has_stored_strings:
        pieces = enumerate(vocabulary.pieces)
        matches = ((id, BYTE_PIECE.fullmatch(piece)) for id, piece in pieces if piece.startswith("<0x"))
        return {id: int(match[1], 16) for id, match in matches if match}
    run = _find_run(vocabulary)
    doubles = [byte for byte in range(0x21, 0x7F) if len(vocabulary.ids_of.get(bytes([byte]), ())) > 1]
    if not doubles:
        return {}
    return {run + byte: byte for byte in range(BYTES)} if run is not None else _find_unused(queries, vocabulary)


def _find_run(vocabulary: Vocabulary) -> int | None:
    """Return the first of 256 consecutive ids that represent the bytes in order."""
    all_bytes = [bytes([byte]) for byte in range(BYTES)]
    for start in vocabulary.ids_of.get(b"\0", ()):
        if list(vocabulary.token_bytes[start : start + BYTES]) == all_bytes:
            return start
    return None


def _find_unused(queries: Queries, vocabulary: Vocabulary) -> dict[int, int]:
    """Return the tokens of single bytes that are not used for a character of their own."""
    found: dict[int, int] = {}
    for byte in range(BYTES):
        ids = vocabulary.ids_of.get(bytes([byte]), [])
        used = queries.encode(chr(byte)) or [] if byte < 0x80 else []  # noqa: PLR2004 - the end of ASCII
        candidates = [id for id in ids if id not in used]
        if candidates:
            found[candidates[0]] = byte
    return found


def find_unknown(queries: Queries, vocabulary: Vocabulary) -> int | None:
    """Return the token that stands for characters outside the vocabulary; None if they are encoded as bytes."""
    for character in RARE:
        ids = queries.encode(character)
        if ids and ids[-1] < vocabulary.size and character.encode() not in vocabulary.bytes_of(ids):
            return ids[-1]
    return None
