"""Read the ranks of a .tiktoken file, and find its special tokens, which the file does not contain."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from tokverify.errors import BrokenFileError, UnsupportedError
from tokverify.sources.config import declared_tokens
from tokverify.sources.tiktoken.published import Published
from tokverify.spec import MAX_TOKENS

_MAX_BYTES = 1 << 24
_MAX_TOKEN_BYTES = 1 << 10


def read_ranks(path: Path, data: bytes) -> dict[bytes, int]:
    """Read a .tiktoken file, each line of which is a token in base64 and its id.

    Raises:
        BrokenFileError: If it is not one, or violates what the library assumes.
        UnsupportedError: If it exceeds the limits for the number and the length of tokens.
    """
    lines = data.split(b"\n")
    if len(lines) > MAX_TOKENS or len(data) > _MAX_BYTES:
        raise UnsupportedError(
            f"{path}: larger than {MAX_TOKENS:,} tokens or {_MAX_BYTES >> 20} MiB, the limits for a tiktoken vocabulary"
        )
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        token, rank = _parse_line(path, number, line)
        if len(token) > _MAX_TOKEN_BYTES:
            raise UnsupportedError(f"{path}:{number}: a token of more than {_MAX_TOKEN_BYTES:,} bytes, the limit")
        ranks[token] = rank
    if len(set(ranks.values())) != len(ranks):
        raise BrokenFileError(f"{path}: two tokens have the same id")
    if missing := sum(bytes([byte]) not in ranks for byte in range(256)):
        raise BrokenFileError(
            f"{path}: an incomplete tiktoken vocabulary: {missing} of the 256 single bytes are missing"
        )
    return ranks


def _parse_line(path: Path, number: int, line: bytes) -> tuple[bytes, int]:
    try:
        token, rank = line.split()
        id = int(rank)
        if 0 <= id < MAX_TOKENS:
            # Whisper's file has a token without bytes.
            return b"" if token == b"=" else base64.b64decode(token, validate=True), id
    except ValueError:
        pass
    raise BrokenFileError(f"{path}:{number}: not a token in base64 and its id, which is below {MAX_TOKENS:,}")


def special_tokens(path: Path, ranks: Mapping[bytes, int], published: Published) -> dict[str, int]:
    """Return the special tokens in a config beside the file, and those of the published file if this one is complete.

    A config says more about this copy of a vocabulary, so its texts replace the published ones of the same ids.
    """
    taken = set(ranks.values())
    special = {text: id for text, id in declared_tokens(path).items() if id not in taken}
    taken |= set(special.values())
    known = published.special_tokens if len(ranks) == published.size else {}
    return {text: id for text, id in known.items() if id not in taken and text not in special} | special


def add_bos_id(special: Mapping[str, int], published: Published) -> int | None:
    """Return the id of the token that the original reader begins each text with, or None if it adds none."""
    return special.get(published.roles["bos"]) if published.add_bos else None
