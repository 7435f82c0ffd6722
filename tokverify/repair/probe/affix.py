"""Find the tokens that `add_special` adds around a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.texts.batch import Queries

_TEXTS = ("a", "1", "?", "")


@dataclass(frozen=True, slots=True)
class AddedAround:
    """The ids that `add_special` adds; None if the reference adds none because it does not know them."""

    before: tuple[int, ...]
    after: tuple[int, ...]


def find_added_around(queries: Queries) -> AddedAround | None:
    """Return what `add_special` adds around a text; None if that has no effect or is not clear."""
    if not queries.tokenizer.adds_special:
        return None
    for text in _TEXTS:
        plain, whole = queries.encode(text), queries.encode(text, add_special=True)
        starts = [] if plain is None or whole is None else _occurrences(plain, whole)
        if len(starts) == 1 and plain is not None and whole is not None:
            end = starts[0] + len(plain)
            return AddedAround(tuple(whole[: starts[0]]), tuple(whole[end:]))
    return None


def _occurrences(part: list[int], whole: list[int]) -> list[int]:
    return [start for start in range(len(whole) - len(part) + 1) if whole[start : start + len(part)] == part]
