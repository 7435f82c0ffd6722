"""Derive what a version declares, and compare mappings of values, for all parts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from tokverify.engine.family import Settings
from tokverify.errors import answer_or
from tokverify.report.diff import PartChange
from tokverify.spec import TokenizerSpec

_DIGITS = 16


class Declared:
    """A version as a GGUF file would declare it, and the settings that llama.cpp would derive from it."""

    def __init__(self, spec: TokenizerSpec, unnamed: Collection[str] = ()) -> None:
        self.spec = spec
        self.unnamed = unnamed
        """The roles of special tokens that are not compared, because one version does not name them."""

    @cached_property
    def settings(self) -> Settings | None:
        """The effective settings; None if llama.cpp would refuse the file."""
        from tokverify.engine.settings import resolve

        return answer_or(None, resolve, self.spec)

    @cached_property
    def by_token(self) -> dict[str, int]:
        """The id of each token; the last one of equal tokens."""
        return {token: id for id, token in enumerate(self.spec.tokens)}


def compare_values(old: Mapping[str, object], new: Mapping[str, object], ignored: str = "") -> Iterator[PartChange]:
    """Yield the keys whose values changed, except the key `ignored`."""
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if before != after and name != ignored:
            yield PartChange("changed", name, _format(before), _format(after))


def _format(value: object) -> str | None:
    return None if value is None else str(value)


def compare_entries(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[PartChange]:
    """Yield the entries that were added, removed or changed."""
    for change in compare_values(old, new):
        if change.new is None:
            yield replace(change, kind="removed")
        elif change.old is None:
            yield replace(change, kind="added")
        else:
            yield change


def digest(data: bytes) -> str:
    """Return the beginning of a sha256."""
    return f"sha256 {hashlib.sha256(data).hexdigest()[:_DIGITS]}"
