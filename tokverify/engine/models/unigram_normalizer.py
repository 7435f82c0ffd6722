"""The normalizer of unigram tokenizers: user-defined pieces pass, a charsmap replaces, spaces become `▁`.

At each position, from left to right, llama.cpp takes the first of these that there is: a stretch that user-defined
pieces let pass, the longest string of the charsmap, one character as it is. That is done literally, byte by byte, but
only for the few stretches of a text where anything can change.

Source: `llm_tokenizer_ugm_session::normalize` and `normalize_prefix` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from tokverify.engine.charsmap import LEADS, Outline, character_size
from tokverify.engine.models.boundary import SPACE
from tokverify.engine.models.character_class import alike, character_class, only
from tokverify.engine.models.memory import Memory
from tokverify.engine.rewriting import Rewriting
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import to_bytes

if TYPE_CHECKING:
    from tokverify.engine.charsmap import Charsmap

REPLACEMENT = "\ufffd".encode()
CONTINUATION = 0x80
"""The least byte that can only go on a character."""


class UnigramNormalizer:
    """Normalizes texts; bytes of the result that are not UTF-8 are lone surrogates (`surrogateescape`).

    `passing` are the user-defined pieces. `blanks` are the characters that always become one space, whatever stands
    beside them, and `growth` is how many characters one can become at most. Where the charsmap or a user-defined piece
    is not about whole characters there are no blanks and growth is infinite.
    """

    def __init__(
        self, charsmap: Charsmap | None, passing: Iterable[bytes], *, merges_spaces: bool, prefixes_space: bool
    ) -> None:
        self._match = charsmap.match if charsmap else lambda _data, _start: None
        self._passing = sorted(passing)
        self._passing_bytes = frozenset(piece[0] for piece in self._passing)
        self.merges_spaces = merges_spaces
        self._prefixes_space = prefixes_space
        self._stretches = Memory(self._replace)
        self._cut: Callable[[str], list[str]] = lambda text: ["", text]
        self.blanks, self.growth = "", math.inf
        outline = charsmap.outline() if charsmap else Outline()
        pieces = _decoded(self._passing)
        if outline is not None and pieces is not None:
            cutter = _Cutter(outline, pieces)
            self._cut = cutter.split
            # One more for a space before it; and a character that is broken up leaves three symbols.
            self.growth = 1 + max(3, outline.longest)
            spaces = filter(cutter.stands_alone, [" ", *outline.alone])
            self.blanks = "".join(character for character in spaces if self._stretches[character] == " ")

    def normalize(self, text: str) -> str:
        """Replace in `text` what is to be replaced and write its spaces as `▁`, adding and removing some.

        Raises:
            EncodeError: If the charsmap is damaged where it is looked up; llama.cpp aborts there.
        """
        parts = self._cut(text)
        parts[1::2] = map(self._stretches.__getitem__, parts[1::2])
        return self._escape_spaces("".join(parts))

    def normalize_cut(self, text: str) -> str:
        """Normalize `text` with lone bytes at its ends.

        Raises:
            EncodeError: As `normalize` does.
        """
        return self._escape_spaces(self._replace(text))

    def trace(self, text: str) -> Rewriting:
        """Normalize `text`, noting what becomes of what."""
        rewriting = Rewriting()
        for index, part in enumerate(self._cut(text)):
            data, start = part.encode(), 0
            while index % 2 and start < len(data):
                replacement, length = self._replace_one(data, start)
                rewriting.replace(data[start : start + length], replacement)
                start += length
            rewriting.keep(data[start:])
        return rewriting.then(self._trace_spaces(rewriting.result.decode("utf-8", "surrogateescape")))

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
            # subtle: then every word has a space before it, the first one too, even if no prefix is asked for.
            return "".join([SPACE + word for word in text.split(" ") if word])
        start = len(text) - len(text.lstrip(" "))
        prefix = SPACE if self._prefixes_space and start < len(text) else ""
        return f"{SPACE * start}{prefix}{text[start:].replace(' ', SPACE)}"

    def _replace(self, stretch: str) -> str:
        data = to_bytes(stretch)
        parts: list[bytes] = []
        start = 0
        while start < len(data):
            part, length = self._replace_one(data, start)
            parts.append(part)
            start += length
        return b"".join(parts).decode("utf-8", "surrogateescape")

    def _replace_one(self, data: bytes, start: int) -> tuple[bytes, int]:
        """Return what replaces the next bytes of `data`, and how many bytes these are."""
        length = self._passing_length(data, start)
        if length:
            return data[start : start + length], length
        match = self._match(data, start)
        if match:
            return match[1], match[0]
        length = character_size(data[start])
        # subtle: in a valid text only what a passing piece has left over of a character, or an added token cut off.
        if CONTINUATION <= data[start] < LEADS[0] or start + length > len(data):
            return REPLACEMENT, 1
        return data[start : start + length], length

    def _passing_length(self, data: bytes, start: int) -> int:
        """Return how many bytes at `start` agree with the beginning of some user-defined piece.

        subtle: they need not be a whole piece. llama.cpp means to find one, but its `naive_trie::get_longest_prefix`
        counts how far it gets. So where `–` is user-defined, two bytes of `—` pass, and the third is left over.
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


def _decoded(pieces: Iterable[bytes]) -> list[str] | None:
    try:
        return [piece.decode() for piece in pieces]
    except UnicodeDecodeError:
        return None


class _Cutter:
    """Cuts texts into parts, of which every second one can change: the stretches that hold something to replace.

    What is found in a text, be it the beginning of a user-defined piece or a string of the charsmap, goes on only into
    characters that are inside of one. So it is safe to cut before any other character.
    """

    def __init__(self, outline: Outline, pieces: Sequence[str]) -> None:
        heads = {piece[0] for piece in pieces if len(piece) > 1}
        tails = {character for piece in pieces for character in piece[1:]}
        inner = [*map(only, outline.inner), *map(alike, tails)]
        changing = [*map(only, outline.alone), *(alike(piece[0]) for piece in pieces)]
        starting = character_class([*changing, *map(only, outline.inner), *map(only, heads)])
        self._split = re.compile(f"({starting}{character_class(inner)}*)").split
        self._second = outline.inner
        self._touches = re.compile(character_class([*inner, *map(only, outline.first | heads)])).match

    def split(self, text: str) -> list[str]:
        """Cut `text`; the parts that can change have odd indices."""
        parts: list[str] = self._split(text)
        for index in range(1, len(parts), 2):
            # Of a string that begins with a common character, such as `é` in two parts, only the second is looked for.
            if parts[index][0] in self._second:
                parts[index] = parts[index - 1][-1:] + parts[index]
                parts[index - 1] = parts[index - 1][:-1]
        return parts

    def stands_alone(self, character: str) -> bool:
        """Whether nothing that is found in a text holds this character and another."""
        return not self._touches(character)
