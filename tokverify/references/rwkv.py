"""The reference `rwkv`: RWKV's text vocabulary, with the longest token at each position.

Its own library is a few lines of Python that are copied into many projects. What follows is written from the published
algorithm: `TRIE_TOKENIZER` in ChatRWKV's `rwkv_pip_package/src/rwkv/rwkv_tokenizer.py`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tokverify.errors import EncodeError
from tokverify.references.reference import FoundReference
from tokverify.sources.location import read_file
from tokverify.sources.rwkv import END, escape, read_vocabulary
from tokverify.spec import TokenType
from tokverify.text.utf8 import to_utf8

_CAVEAT = "tokverify itself encodes, by the published algorithm: the longest token at each position"


class RwkvTokenizer:
    """Takes the longest token at each position, adds nothing around a text, and recognizes no special tokens in it."""

    name = "rwkv"
    parses_special = False
    adds_special = False
    decodes_as_llama_cpp = False
    control_texts = frozenset([END])

    def __init__(self, tokens: Mapping[int, bytes]) -> None:
        self._tokens = {0: END.encode(), **tokens}
        self._ids = {token: id for id, token in tokens.items()}
        lengths: dict[bytes, set[int]] = defaultdict(set)
        for token in self._ids:
            lengths[token[:2]].add(len(token))
        self._lengths = {start: sorted(found, reverse=True) for start, found in lengths.items()}
        self.vocab_size = max(self._tokens) + 1
        self.special_ids: Mapping[str, int] = {}

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:  # noqa: ARG002 - the protocol has it
        """Encode a text to ids.

        Raises:
            EncodeError: If no token begins like the rest of the text.
        """
        data = to_utf8(text)
        ids = []
        at = 0
        while at < len(data):
            end = self._longest(data, at)
            ids.append(self._ids[data[at:end]])
            at = end
        return ids

    def _longest(self, data: bytes, at: int) -> int:
        """Return the end of the longest token at a position."""
        for start in (data[at : at + 2], data[at : at + 1]):
            for length in self._lengths.get(start, ()):
                if data[at : at + length] in self._ids and at + length <= len(data):
                    return at + length
        raise EncodeError(f"no token begins with the byte 0x{data[at]:02X} and continues like the text")

    def decode(self, ids: Sequence[int]) -> bytes:
        """Decode ids to bytes."""
        if unknown := [id for id in ids if id not in self._tokens]:
            raise EncodeError(f"the vocabulary has no token with the id {unknown[0]}")
        return b"".join(map(self.token_bytes, ids))

    def piece(self, id: int) -> str:
        """Return a token as it is stored in a GGUF file, or "" if there is none."""
        return escape(self.token_bytes(id))

    def token_bytes(self, id: int) -> bytes:
        """Return the bytes that a token represents; none for an id without a token."""
        return self._tokens.get(id, b"")

    def token_types(self) -> list[TokenType]:
        """Return CONTROL for the id 0."""
        return [TokenType.CONTROL, *[TokenType.UNDEFINED] * (self.vocab_size - 1)]

    @property
    def added_texts(self) -> list[str]:
        """The text of the id 0."""
        return [END]


def load(place: os.PathLike[str]) -> FoundReference:
    """Load a text vocabulary.

    Raises:
        BrokenFileError: If the file cannot be read or is not a text vocabulary.
        UnsupportedError: If it is too large.
    """
    path = Path(place)
    data = read_file(path)
    return FoundReference.of_file(RwkvTokenizer(read_vocabulary(path, data)), path, data, versions={}, caveat=_CAVEAT)
