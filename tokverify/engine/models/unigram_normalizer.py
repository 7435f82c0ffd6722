"""Normalize texts for unigram tokenizers: keep user-defined pieces, apply a charsmap, and write spaces as `▁`.

At each position, from left to right, llama.cpp takes the first of these that exists: bytes that match a user-defined
piece, the longest string of the charsmap, a single character.

Source: `llm_tokenizer_ugm_session::normalize` and `normalize_prefix` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable

from tokverify.engine.charsmap import Charsmap, CharsmapWalk
from tokverify.engine.models.boundary import SPACE
from tokverify.engine.rewriting import Rewriting
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import sequence_length, to_bytes

REPLACEMENT = "\ufffd".encode()


class UnigramNormalizer:
    """Normalizes texts; bytes of the result that are not UTF-8 are lone surrogates (`surrogateescape`).

    `passing` are the user-defined pieces.
    """

    def __init__(
        self,
        charsmap: Charsmap | None,
        passing: Iterable[bytes],
        *,
        merges_spaces: bool,
        prefixes_space: bool,
        overlong: bool = False,
    ) -> None:
        self._overlong = overlong
        self._charsmap = charsmap
        self._match = charsmap.match if charsmap else lambda _data, _start: None
        self._passing = sorted(passing)
        self._passing_bytes = frozenset(piece[0] for piece in self._passing)
        self.merges_spaces = merges_spaces
        self._prefixes_space = prefixes_space

    def normalize(self, text: str) -> str:
        """Apply the charsmap to `text`, which may contain lone bytes, and write its spaces as `▁`.

        Spaces are also added and removed.

        Raises:
            EncodeError: If the needed part of the charsmap is damaged; llama.cpp aborts there.
        """
        return self._escape_spaces(self._replace(text))

    def trace(self, text: str) -> Rewriting:
        """Normalize `text` and record what each part becomes."""
        rewriting = Rewriting()
        data, start = to_bytes(text), 0
        while start < len(data):
            replacement, length = self._replace_one(data, start)
            part = data[start : start + length]
            rewriting.keep(part) if part == replacement else rewriting.replace(part, replacement)
            start += length
        return rewriting.then(self._trace_spaces(rewriting.result.decode("utf-8", "surrogateescape")))

    def walks(self, text: str) -> tuple[CharsmapWalk, ...]:
        """Record the search in the charsmap at each position of `text` where there is one."""
        data, start = to_bytes(text), 0
        found: list[CharsmapWalk] = []
        while self._charsmap and start < len(data):
            walk = None if self._passing_length(data, start) else self._charsmap.walk(data, start)
            found += [walk] if walk else []
            start += self._replace_one(data, start)[1]
        return tuple(found)

    def _trace_spaces(self, text: str) -> Rewriting:
        rewriting = Rewriting()
        words = re.split("( +)", text)
        for spaces, word in zip(["", *words[1::2]], words[::2], strict=True):
            first = not rewriting.result
            if self.merges_spaces:
                rewriting.replace(spaces, SPACE if word else "")
            else:
                for space in spaces:
                    rewriting.replace(space, SPACE)
                if first and word and self._prefixes_space:
                    rewriting.replace("", SPACE)
            rewriting.keep(word)
        return rewriting

    def _escape_spaces(self, text: str) -> str:
        if self.merges_spaces:
            # subtle: then every word gets a space before it, even the first one if no prefix is requested.
            return "".join([SPACE + word for word in text.split(" ") if word])
        start = len(text) - len(text.lstrip(" "))
        prefix = SPACE if self._prefixes_space and start < len(text) else ""
        return f"{SPACE * start}{prefix}{text[start:].replace(' ', SPACE)}"

    def _replace(self, part: str) -> str:
        data = to_bytes(part)
        parts: list[bytes] = []
        start = 0
        while start < len(data):
            replacement, length = self._replace_one(data, start)
            parts.append(replacement)
            start += length
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def _replace_one(self, data: bytes, start: int) -> tuple[bytes, int]:
        """Return the replacement of the next bytes of `data`, and the number of these bytes."""
        length = self._passing_length(data, start)
        if length:
            return data[start : start + length], length
        match = self._match(data, start)
        if match:
            return match[1], match[0]
        # subtle: even in a valid text, the rest of a character can follow a user-defined piece or an added token.
        length = sequence_length(data, start, overlong=self._overlong)
        return (data[start : start + length], length) if length else (REPLACEMENT, 1)

    def _passing_length(self, data: bytes, start: int) -> int:
        """Return how many bytes at `start` match the beginning of a user-defined piece.

        subtle: they need not be a whole piece. llama.cpp intends to find one, but its `naive_trie::get_longest_prefix`
        counts how far it gets. So if `–` is user-defined, two bytes of `—` are kept, and the third is left over.
        """
        if data[start] not in self._passing_bytes:
            return 0
        size = 16
        while True:
            window = data[start : start + size]
            index = bisect(self._passing, window)
            neighbors = self._passing[max(index - 1, 0) : index + 1]
            length = max(common_length(window, piece) for piece in neighbors)
            if length < size:
                return length
            size *= 4


def replacing_normalizer(charsmap: bytes | None) -> UnigramNormalizer:
    """Return a normalizer that only replaces what a charsmap does, and writes spaces as `▁`; raises like `Charsmap`."""
    read = None if charsmap is None else Charsmap(charsmap)
    return UnigramNormalizer(read, (), merges_spaces=False, prefixes_space=False)
