"""Strings that are kept as joined bytes until one of them is needed: Gemma 4 has 514,000 merges."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import compress
from operator import ne
from typing import Protocol, overload

from tokverify.engine.byte_level import count_placeholders
from tokverify.engine.engine_choice import usable_native_module
from tokverify.text.utf8 import to_bytes, to_text

_SHORT = 16
"""The number of characters up to which no list of tokens can decode to much more than the file has."""

_FEW = 8
"""Up to this fraction of the strings is decoded one by one."""


class NativePieces(Protocol):
    """What the compiled vocabulary offers."""

    def count_distinct(self) -> int:
        """Return the number of different pieces."""

    def has_empty(self) -> bool:
        """Whether a piece is empty."""

    def id(self, piece: bytes, /) -> int | None:
        """Return the lowest id of a piece; None if there is no such piece."""

    def piece(self, id: int, /) -> bytes | None:
        """Return the piece of an id; None if there is no such id."""

    def unmade(self, merges: bytes, /) -> list[int] | None:
        """Return the ids of the pieces that no merge makes; None if a merge does not make one piece of two."""

    def join(self, ids: Sequence[int], /) -> bytes | None:
        """Return the pieces of ids, joined with NUL; None if there is no such id."""


class JoinedStrings(Sequence[str]):
    """Strings in UTF-8, separated by NUL; bytes that are not UTF-8 become lone surrogates."""

    def __init__(self, joined: bytes, count: int) -> None:
        """Take `count` strings, none of which contains NUL."""
        self.joined = joined
        self._count = count
        self._all: list[str] | None = None
        self._unmade: tuple[JoinedStrings, Sequence[int] | None] | None = None

    @classmethod
    def of(cls, strings: Sequence[str]) -> JoinedStrings:
        """Join strings, none of which contains NUL.

        Raises:
            UnicodeEncodeError: If a string contains a lone surrogate that does not stand for a byte.
        """
        text = "\0".join(strings)
        joined = cls(to_bytes(text), len(strings))
        # Lone surrogates can stand for the bytes of a character, which is then that character.
        joined._all = list(strings) if to_text(joined.joined) == text else None
        return joined

    @property
    def strings(self) -> list[str]:
        """All strings."""
        if self._all is None:
            self._all = to_text(self.joined).split("\0") if self._count else []
        return self._all

    @cached_property
    def native(self) -> NativePieces | None:
        """The same strings in the native engine, which finds one without decoding all; None without that engine."""
        module = usable_native_module()
        return module.Pieces(self.joined, self._count) if module else None

    @property
    def has_empty(self) -> bool:
        """Whether one of the strings is empty."""
        if self.native:
            return self.native.has_empty()
        at_end = self.joined.startswith(b"\0") or self.joined.endswith(b"\0") or not self.joined
        return self._count > 0 and (at_end or b"\0\0" in self.joined)

    def find_unmade(self, merges: JoinedStrings) -> Sequence[int] | None:
        """Return the indices of the pieces that no merge makes; None if a merge does not make one piece of two.

        This needs the native engine. The last answer is kept, as candidates for a repair mostly share both tables.
        """
        if self._unmade is None or self._unmade[0] is not merges:
            self._unmade = merges, self.native.unmade(merges.joined) if self.native else None
        return self._unmade[1]

    @cached_property
    def longest_and_total(self) -> tuple[int, int]:
        """The length of the longest string, and that of all, in characters."""
        return longest_and_total(self.strings)

    @cached_property
    def placeholders(self) -> list[tuple[int, int]]:
        """The result of `placeholders_of`."""
        return placeholders_of(self.strings)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def __contains__(self, string: object) -> bool:
        return string in self.strings

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if self._all is None and (native := self.native):
            # An index outside of the range is an error of the list below.
            if isinstance(index, slice):
                indices = range(self._count)[index]
                if len(indices) < self._count // _FEW:
                    return self.select(indices)
            elif -self._count <= index < self._count:
                return to_text(native.piece(index % self._count) or b"")
        return self.strings[index]

    def select(self, indices: Sequence[int]) -> list[str]:
        """Return the strings at some indices, which must not be negative, without decoding the others.

        Raises:
            IndexError: If there is no such index.
        """
        if self._all is None and self.native and indices:
            joined = self.native.join(indices)
            if joined is not None:
                return to_text(joined).split("\0")
        return [self.strings[index] for index in indices]

    def extended(self, strings: Sequence[str]) -> JoinedStrings:
        """Return these strings, followed by others, none of which contains NUL."""
        if not strings:
            return self
        parts = [*([self.joined] if self else []), *map(to_bytes, strings)]
        return JoinedStrings(b"\0".join(parts), len(self) + len(strings))

    def index(self, string: str, *limits: int) -> int:
        """Return the index of the first string that is equal to `string`.

        Raises:
            ValueError: If there is none.
        """
        return self.strings.index(string, *limits)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JoinedStrings):
            return self._count == other._count and self.joined == other.joined
        return self.strings == [*other] if isinstance(other, list | tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[JoinedStrings], tuple[bytes, int]]:
        # The native strings cannot be sent to another process.
        return JoinedStrings, (self.joined, self._count)


def join(strings: Iterable[str]) -> bytes:
    """Return the bytes of strings, separated by NUL; ambiguous if one of them contains it."""
    return strings.joined if isinstance(strings, JoinedStrings) else to_bytes("\0".join(strings))


def longest_and_total(strings: Sequence[str]) -> tuple[int, int]:
    """Return the length of the longest string, and that of all, in characters."""
    if isinstance(strings, JoinedStrings):
        return strings.longest_and_total
    lengths = list(map(len, strings))
    return max(lengths, default=0), sum(lengths)


def placeholders_of(pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return the index of each long piece with placeholders, and how many characters these would contain in all."""
    if isinstance(pieces, JoinedStrings):
        return pieces.placeholders
    long = ((id, piece) for id, piece in enumerate(pieces) if len(piece) > _SHORT)
    return [(id, count * len(piece)) for id, piece in long if (count := count_placeholders(piece))]


def find_differing(left: Sequence[object], right: Sequence[object]) -> list[int]:
    """Return the indices at which two sequences differ, up to the end of the longer one."""
    if left is right:
        return []
    if isinstance(left, JoinedStrings) and isinstance(right, JoinedStrings):
        if left == right:
            return []
        module = usable_native_module()
        if module and left and right:
            found: list[int] = module.find_differing(left.joined, right.joined)
            return found
    shorter, longer = sorted((len(left), len(right)))
    return [*compress(range(shorter), map(ne, left, right)), *range(shorter, longer)]


def find_changed(left: Sequence[object], right: Sequence[object]) -> list[int]:
    """Return the indices at which two sequences differ, up to the end of the shorter one."""
    differing = find_differing(left, right)
    return differing[: bisect_left(differing, min(len(left), len(right)))]


def find_containing(strings: Sequence[str], character: str) -> list[int]:
    """Return the indices of the strings that contain a character."""
    if not isinstance(strings, JoinedStrings):
        return [index for index, string in enumerate(strings) if character in string]
    if character == "\0":
        return []
    joined, mark = strings.joined, to_bytes(character)
    found: list[int] = []
    index = start = 0
    while (at := joined.find(mark, start)) >= 0:
        index += joined.count(b"\0", start, at)
        if found[-1:] != [index]:
            found.append(index)
        start = at + 1
    return found
