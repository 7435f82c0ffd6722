"""Read sentencepiece's precompiled normalizer, the charsmap, which maps short byte strings to their replacements.

The strings form a trie, stored as one array of numbers (an XOR-compressed double array). A node is an index into it.
Its children share a base: the child for the byte `c` is at `base ^ c`, and exists if its entry has the label `c`. Where
a string of the map ends, the entry at the base itself contains the offset of its replacement among the NUL-terminated
strings that follow the array.

Source: `xcda_array_view` and `normalize_prefix` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.errors import BrokenFileError, EncodeError, UnsupportedError
from tokverify.text.utf8 import to_text

if TYPE_CHECKING:
    from tokverify.report.explain import CharsmapStep

KEY = "tokenizer.ggml.precompiled_charsmap"
MAX_REPLACEMENT = 1 << 10
"""The limit for the length of a replacement, in bytes; the longest one of Unicode's NFKC has 33."""
WORD = 4
BYTE = 0xFF
LABEL = 1 << 31 | BYTE
"""The bits that must equal the byte; the highest one marks entries that contain offsets, which match no byte."""
ENDS = 1 << 8
FAR = 1 << 9
OFFSET = (1 << 31) - 1
LEADS = (0xC0, 0xE0, 0xF0)
"""The lowest first bytes of UTF-8 characters of two, three and four bytes."""


@dataclass(frozen=True, slots=True)
class CharsmapWalk:
    """The search for the longest string of the map at one position of a text."""

    start: int
    """The position in the text, in bytes."""
    root: int
    """The base of the first byte's entry."""
    steps: tuple[CharsmapStep, ...]


class Charsmap:
    """Finds replacements; `data` is the blob as stored in a file.

    Raises:
        BrokenFileError: If llama.cpp refuses to load the blob. It does load one that is damaged elsewhere.
        UnsupportedError: If a replacement is so long that a short text would become a huge one.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) < WORD:
            raise BrokenFileError(f"{KEY} has {len(data)} bytes, too few for its header; llama.cpp refuses the file")
        size = int.from_bytes(data[:WORD], "little")
        if size + WORD >= len(data):
            raise BrokenFileError(
                f"{KEY} is truncated: the trie has {size} of {len(data)} bytes; convert the model again"
            )
        self._entries: tuple[int, ...] = struct.unpack_from(f"<{size // WORD}I", data, WORD)
        self._strings = data[WORD + size :]
        if max(map(len, self._strings.split(b"\0"))) > MAX_REPLACEMENT:
            raise UnsupportedError(f"{KEY} contains a replacement of more than {MAX_REPLACEMENT:,} bytes, the limit")

    def match(self, data: bytes, start: int) -> tuple[int, bytes] | None:
        """Find the longest string of the map at `start`; return its length in bytes and its replacement.

        Raises:
            EncodeError: If the search leaves the array, or the replacement the blob; llama.cpp aborts there.
        """
        if not self._entries:
            return None
        length, node = 0, _step(self._entries[0])
        offset = 0
        for end in range(start, len(data)):
            # subtle: the label 0 would lead to an offset, so a NUL ends the search.
            if not data[end]:
                break
            node ^= data[end]
            entry = self._entry(node)
            if entry & LABEL != data[end]:
                break
            node ^= _step(entry)
            if entry & ENDS:
                length, offset = end + 1 - start, self._entry(node) & OFFSET
        return (length, self._replacement(offset)) if length else None

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self._entries)

    def walk(self, data: bytes, start: int) -> CharsmapWalk | None:
        """Search as `match` does and record each step; None if the map has no entries.

        Raises:
            EncodeError: As for `match`.
        """
        if not self._entries:
            return None
        from tokverify.report.explain import CharsmapStep

        root = base = _step(self._entries[0])
        steps: list[CharsmapStep] = []
        for end in range(start, len(data)):
            byte = data[end]
            if not byte:
                break
            node = base ^ byte
            entry = self._entry(node)
            if entry & LABEL != byte:
                steps.append(CharsmapStep(byte, node, entry & BYTE, None, None))
                break
            base = node ^ _step(entry)
            replacement = to_text(self._replacement(self._entry(base) & OFFSET)) if entry & ENDS else None
            steps.append(CharsmapStep(byte, node, byte, base, replacement))
        return CharsmapWalk(start, root, tuple(steps))

    def _entry(self, index: int) -> int:
        if index >= len(self._entries):
            raise EncodeError(f"{KEY}: entry {index} of {len(self._entries)} is needed; llama.cpp aborts here")
        return self._entries[index]

    def _replacement(self, offset: int) -> bytes:
        end = self._strings.find(b"\0", offset)
        if end < 0:
            raise EncodeError(f"{KEY}: no replacement ends after offset {offset}; llama.cpp aborts here")
        return self._strings[offset:end]


def _step(entry: int) -> int:
    """Return the XOR distance from a node to the base of its children."""
    return entry >> 10 << (8 if entry & FAR else 0)


def character_size(lead: int) -> int:
    """Return the length in bytes of the UTF-8 character that begins with `lead`; 1 if none does."""
    return 1 + sum(lead >= least for least in LEADS)
