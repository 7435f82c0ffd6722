"""Build charsmaps as sentencepiece stores them, and broken ones."""

import struct
from collections.abc import Mapping
from itertools import count

Trie = dict[int, "Trie"]


def make_charsmap(replacements: Mapping[str | bytes, str | bytes]) -> bytes:
    """Build the trie of the strings to replace, as an XOR-compressed double array, and the list of replacements."""
    entries = [0] * 256
    used: set[int] = {0}
    bases: set[int] = set()
    strings = b""
    pending = [(0, b"")]
    to_replace = {_bytes(string): _bytes(replacement) for string, replacement in replacements.items()}
    while pending:
        index, prefix = pending.pop()
        labels = {string[len(prefix)] for string in to_replace if string.startswith(prefix) and string != prefix}
        # A base belongs to one node, and the slots of its children and of its offset must be free.
        places = labels | ({0} if prefix in to_replace else set())
        base = next(b for b in count(1) if b not in bases and not any(b ^ place in used for place in places))
        bases.add(base)
        used.update(base ^ place for place in places)
        entries.extend([0] * (max(used) // 256 * 256 + 256 - len(entries)))
        entries[index] |= (index ^ base) << 10
        if prefix in to_replace:
            entries[index] |= 1 << 8
            entries[base] = 1 << 31 | len(strings)
            strings += to_replace[prefix] + b"\0"
        for label in labels:
            entries[base ^ label] = label
            pending.append((base ^ label, prefix + bytes([label])))
    return pack_charsmap(entries, strings or b"\0")


def pack_charsmap(entries: list[int], strings: bytes) -> bytes:
    """Store a double array unchanged, valid or not."""
    return struct.pack(f"<I{len(entries)}I", 4 * len(entries), *entries) + strings


def _bytes(string: str | bytes) -> bytes:
    return string if isinstance(string, bytes) else string.encode()
