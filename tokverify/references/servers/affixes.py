"""Servers that add ids around every text, whether asked to or not: found by their encoding of the empty text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.system.http_pool import HttpPool
from tokverify.text.sequence import common_ends

LETTER = "a"
"""A text that every server encodes."""

_MAX_SEARCHES = 3


class AddingTokenizer(HttpTokenizer):
    """The tokenizer of a server that adds ids around a text also without `add_special`; they are removed again."""

    def __init__(self, pool: HttpPool, model: str = "") -> None:
        super().__init__(pool, model)
        self._affixes: Affixes | EncodeError | None = None
        self._searches = 0

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts; without `add_special`, what the server adds anyway is removed."""
        encoded = super().encode_many(texts, add_special=add_special, parse_special=parse_special)
        if add_special:
            return encoded
        return [self._strip(ids) if isinstance(ids, list) else ids for ids in encoded]

    def _strip(self, ids: list[int]) -> list[int] | EncodeError:
        affixes = self.find_affixes()
        if isinstance(affixes, EncodeError):
            return affixes
        stripped = affixes.strip(ids)
        if stripped is None:
            return EncodeError(f"{self.pool.address}: the server did not add to this text what it adds to others")
        return stripped

    def find_affixes(self) -> Affixes | EncodeError:
        """Return what the server adds around a text without being asked to, or why that is not known.

        A failure may concern one moment or every text, so that the search is repeated, but only a few times.
        """
        if self._affixes is None or (isinstance(self._affixes, EncodeError) and self._searches < _MAX_SEARCHES):
            self._searches += 1
            self._affixes = self._search_affixes()
        return self._affixes

    def _search_affixes(self) -> Affixes | EncodeError:
        encoded = self.ask_ids(["", LETTER], add_special=False, parse_special=True)
        for text, ids in zip(["", LETTER], encoded, strict=True):
            if isinstance(ids, EncodeError):
                reason = str(ids).removeprefix(self.pool.address).lstrip(": ")
                return EncodeError(
                    f"{self.pool.address}: what the server adds around every text is not known, because it does not "
                    f"encode {text!r} ({reason})"
                )
        empty, letter = (ids for ids in encoded if isinstance(ids, list))
        return find_affixes(empty, letter)


class Affixes(NamedTuple):
    """The ids that a server adds around every text."""

    before: list[int]
    after: list[int]

    def strip(self, ids: list[int]) -> list[int] | None:
        """Remove from an encoded text what was added around it; None if that is not there."""
        text = ids[len(self.before) : len(ids) - len(self.after)]
        return text if [*self.before, *text, *self.after] == ids else None

    def complete(self, ids: Sequence[int]) -> list[int]:
        """Put back what was removed before a text, unless it is there."""
        is_whole = list(ids[: len(self.before)]) == self.before
        return [*([] if is_whole else self.before), *ids]


def find_affixes(empty: list[int], text: list[int]) -> Affixes:
    """Return what is added to every text, given the ids of the empty text and of another one."""
    before, after = common_ends(empty, text)
    return Affixes(empty[:before], empty[len(empty) - after :])
