"""Servers that add ids around every text, whether asked to or not: found by their encoding of the empty text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tokverify.errors import EncodeError
from tokverify.references.servers.http_tokenizer import HttpTokenizer
from tokverify.text.sequence import common_length

if TYPE_CHECKING:
    from tokverify.errors import UnsupportedError

LETTER = "a"
"""A text that every server encodes."""


class AddingTokenizer(HttpTokenizer):
    """The tokenizer of a server that adds ids around a text also without `add_special`; they are removed again."""

    def encode_many(
        self, texts: Sequence[str], *, add_special: bool, parse_special: bool
    ) -> Sequence[list[int] | EncodeError | UnsupportedError]:
        """Encode texts; without `add_special`, what the server adds nevertheless is removed."""
        encoded = super().encode_many(texts, add_special=add_special, parse_special=parse_special)
        if add_special:
            return encoded
        try:
            return [self.affixes.strip(ids) if isinstance(ids, list) else ids for ids in encoded]
        except EncodeError as error:
            return [error] * len(texts)

    @cached_property
    def affixes(self) -> Affixes:
        """What the server adds around a text without being asked to.

        Raises:
            EncodeError: If it does not encode the texts that show this.
        """
        empty, text = self.ask_ids(["", LETTER], add_special=False, parse_special=True)
        if not isinstance(empty, list) or not isinstance(text, list):
            raise EncodeError(f"{self.pool.address}: the server does not encode the texts '' and {LETTER!r}")
        return find_affixes(empty, text)


class Affixes(NamedTuple):
    """The ids that a server adds around every text."""

    before: list[int]
    after: list[int]

    def strip(self, ids: list[int]) -> list[int] | EncodeError:
        """Remove from an encoded text what was added around it; the result is an error if that is not there."""
        text = ids[len(self.before) : len(ids) - len(self.after)]
        if [*self.before, *text, *self.after] != ids:
            return EncodeError("the server did not add to this text what it adds to others")
        return text

    def complete(self, ids: Sequence[int]) -> list[int]:
        """Put back what was removed before a text, unless it is there."""
        is_whole = list(ids[: len(self.before)]) == self.before
        return [*([] if is_whole else self.before), *ids]


def find_affixes(empty: list[int], text: list[int]) -> Affixes:
    """Return what is added to every text, given the ids of the empty text and of another one."""
    before = common_length(empty, text)
    after = common_length(empty[before:][::-1], text[before:][::-1])
    return Affixes(empty[:before], empty[len(empty) - after :])
