"""Shorten the examples of a tally, so that its size does not depend on the length of documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from tokverify.corpus.result import CauseTally, Example, Tally

if TYPE_CHECKING:
    from tokverify.corpus.check import Found

Differ: TypeAlias = "Callable[[str], Found | None]"
"""Compares a text; None if both sides agree on it."""

MAX_EXCERPT = 1 << 14
"""In characters; also the limit for the ids of an example."""

_ENOUGH = 1 << 10


def shorten_examples(tally: Tally, differ: Differ) -> Tally:
    """Replace each long text by a part of it that differs for the same reason, if there is one.

    A text none of whose halves differs is not shortened any further; if it is still long, it is left out.
    """
    causes = {
        cause: CauseTally(found.documents, tuple(_shorten(example, cause, differ) for example in found.examples))
        for cause, found in tally.causes.items()
    }
    return replace(tally, causes=causes)


def _shorten(example: Example, cause: str, differ: Differ) -> Example:
    if example.text is None or len(example.text) <= _ENOUGH:
        return _limit(example)
    while (part := _differing_part(example, cause, differ)) is not None:
        example = part
    return _limit(example)


def _differing_part(example: Example, cause: str, differ: Differ) -> Example | None:
    text = example.text or ""
    middle, quarter = len(text) // 2, len(text) // 4
    for part in (text[:middle], text[middle:], text[quarter:-quarter]) if len(text) > _ENOUGH else ():
        found = differ(part)
        if found and cause in found.causes:
            return replace(example, text=part, actual=tuple(found.actual), expected=tuple(found.expected))
    return None


def _limit(example: Example) -> Example:
    if max(len(example.text or ""), len(example.actual), len(example.expected)) > MAX_EXCERPT:
        return replace(example, text=None, actual=(), expected=())
    return example
