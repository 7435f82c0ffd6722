"""Strings that are kept as joined bytes until one of them is needed: Gemma 4 has 514,000 merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

from tokverify.text.utf8 import to_bytes


class JoinedStrings(Sequence[str]):
    """Strings in UTF-8, separated by NUL; bytes that are not UTF-8 become lone surrogates."""

    def __init__(self, joined: bytes, count: int) -> None:
        """Take `count` strings, none of which contains NUL."""
        self.joined = joined
        self._count = count

    @cached_property
    def _strings(self) -> list[str]:
        return str(self.joined, "utf-8", "surrogateescape").split("\0") if self._count else []

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return iter(self._strings)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._strings[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JoinedStrings):
            return self._count == other._count and self.joined == other.joined
        return self._strings == [*other] if isinstance(other, list | tuple) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def join(strings: Iterable[str]) -> bytes:
    """Return the bytes of strings, separated by NUL; ambiguous if one of them contains it."""
    return strings.joined if isinstance(strings, JoinedStrings) else to_bytes("\0".join(strings))
