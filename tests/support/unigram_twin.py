"""The unigram model implemented literally: byte by byte, over the whole text at once, without caches.

Source: `naive_trie`, `llm_tokenizer_ugm` and `llm_tokenizer_ugm_session` in llama.cpp's `src/llama-vocab.cpp`, step by
step; where llama.cpp throws, so does this.
"""

import struct
import sys
from ctypes import c_float

from tokverify.engine.attribute import Attribute
from tokverify.engine.settings import resolve
from tokverify.spec import TokenizerSpec, TokenType

LEAD_SIZES = (1,) * 12 + (2, 2, 3, 4)
NORMAL, USER_DEFINED, UNUSED = TokenType.NORMAL, TokenType.USER_DEFINED, TokenType.UNUSED


class ThrownError(Exception):
    """Raised where llama.cpp would throw."""


class Trie:
    def __init__(self) -> None:
        self.children: dict[int, Trie] = {}
        self.id: int | None = None

    def insert(self, key: bytes, id: int) -> None:
        node = self
        for byte in key:
            node = node.children.setdefault(byte, Trie())
        node.id = id

    def longest_prefix(self, data: bytes) -> int:
        node, length = self, 0
        while length < len(data) and data[length] in node.children:
            node = node.children[data[length]]
            length += 1
        return length


class UnigramTwin:
    def __init__(self, spec: TokenizerSpec) -> None:
        self.settings = resolve(spec)
        self.unknown_id = self.settings.special_ids.get("unk", -1)
        self.scores = [c_float(score).value for score in spec.scores or [0.0] * len(spec.tokens)]
        self.entries, self.replacements = self._charsmap(spec.charsmap)
        self.tokens, self.user_defined = Trie(), Trie()
        least = c_float(3.4028234663852886e38).value
        for id, piece in enumerate(self.settings.pieces):
            type = spec.types[id] if spec.types else NORMAL
            key = piece.encode("utf-8", "surrogateescape")
            if type == NORMAL and self.scores[id] < least:
                least = self.scores[id]
            if type in {NORMAL, USER_DEFINED, UNUSED}:
                self.tokens.insert(key, id)
            if type == USER_DEFINED:
                self.user_defined.insert(key, id)
        self.unknown_score = c_float(least - 10).value

    def _charsmap(self, data: bytes | None) -> tuple[tuple[int, ...], bytes]:
        if data is None:
            return (), b""
        if len(data) < 4 or struct.unpack_from("<I", data)[0] + 4 >= len(data):
            raise ThrownError
        size = struct.unpack_from("<I", data)[0]
        return struct.unpack_from(f"<{size // 4}I", data, 4), data[4 + size :]

    def encode(self, text: str) -> list[int]:
        data = self.normalize(text.encode())
        if not data:
            return []
        best = [(self.unknown_id, 0, -sys.float_info.max)] * (len(data) + 1)
        best[0] = (self.unknown_id, 0, 0.0)
        start = 0
        while start < len(data):
            size = min(LEAD_SIZES[data[start] >> 4], len(data) - start)
            total = best[start][2]
            found_single = False
            node, end = self.tokens.children.get(data[start]), start + 1
            while node is not None:
                if node.id is not None:
                    found_single |= end - start == size
                    is_user_defined = self.settings.attributes[node.id] & Attribute.USER_DEFINED
                    challenger = total + (0.0 if is_user_defined else self.scores[node.id])
                    if challenger > best[end][2]:
                        best[end] = (node.id, start, challenger)
                node = node.children.get(data[end]) if end < len(data) else None
                end += 1
            if not found_single and total + self.unknown_score > best[start + size][2]:
                best[start + size] = (self.unknown_id, start, total + self.unknown_score)
            start += size
        return self._trace_back(best)

    def _trace_back(self, best: list[tuple[int, int, float]]) -> list[int]:
        ids: list[int] = []
        id, start, _ = best[-1]
        was_unknown = False
        while True:
            is_unknown = id == self.unknown_id
            if not (was_unknown and is_unknown):
                ids.append(id)
            if start == 0:
                return ids[::-1]
            was_unknown = is_unknown
            id, start, _ = best[start]

    def normalize(self, data: bytes) -> bytes:
        normalized = bytearray()
        space = "▁".encode()
        merge = self.settings.remove_extra_whitespaces
        prepended = in_word = False
        start = 0
        while start < len(data):
            replacement, length = self.normalize_prefix(data, start)
            for byte in replacement:
                if byte != ord(" "):
                    if not in_word:
                        in_word = True
                        if (self.settings.add_space_prefix and not prepended) or merge:
                            normalized += space
                            prepended = True
                    normalized.append(byte)
                else:
                    in_word = False
                    if not merge:
                        normalized += space
            start += length
        return bytes(normalized)

    def normalize_prefix(self, data: bytes, start: int) -> tuple[bytes, int]:
        length = self.user_defined.longest_prefix(data[start:])
        if length:
            return data[start : start + length], length
        length = offset = 0
        if self.entries:
            node = self.base(0)
            for end in range(start, len(data)):
                byte = data[end]
                if byte == 0:
                    break
                node ^= byte
                if self.entry(node) & (1 << 31 | 0xFF) != byte:
                    break
                is_leaf = self.entry(node) >> 8 & 1
                node ^= self.base(node)
                if is_leaf:
                    length = end - start + 1
                    offset = self.entry(node) & (1 << 31) - 1
        if length:
            if offset >= len(self.replacements) or b"\0" not in self.replacements[offset:]:
                raise ThrownError
            return self.replacements[offset:].split(b"\0", 1)[0], length
        size = LEAD_SIZES[data[start] >> 4]
        if 0x80 <= data[start] < 0xC0:
            return "\ufffd".encode(), 1
        return data[start : start + size], size

    def entry(self, index: int) -> int:
        if index >= len(self.entries):
            raise ThrownError
        return self.entries[index]

    def base(self, index: int) -> int:
        entry = self.entry(index)
        return (entry >> 10) << ((entry & 1 << 9) >> 6)
