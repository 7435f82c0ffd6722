"""Compare the tokens that two tokenizers add around a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.compare.digest import make_difference
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.finding import ERROR
from tokverify.report.tokenizer_difference import Aspect
from tokverify.sources.gguf.keys import ADD_BOS, ADD_EOS
from tokverify.text.wording import list_tokens
from tokverify.texts.batch import NotComparedError

if TYPE_CHECKING:
    from tokverify.report.tokenizer_difference import TokenizerDifference
    from tokverify.tokenizer import Tokenizer

    Affixes = tuple[list[int], list[int]]

_TEXT = "a"


def affixes_of(tokenizer: Tokenizer) -> Affixes:
    """Return the ids that a tokenizer adds before and after a text.

    Raises:
        NotComparedError: If it does not know them, or they do not follow from the ids of a text.
    """
    if not tokenizer.adds_special:
        raise NotComparedError(f"the tokens added around a text: {tokenizer.name} does not know them")
    try:
        inner = tokenizer.encode(_TEXT, add_special=False, parse_special=True)
        around = split_around(tokenizer.encode(_TEXT, add_special=True, parse_special=True), inner)
    except (EncodeError, UnsupportedError) as error:
        raise NotComparedError(f"a text cannot be encoded with special tokens around it: {error}") from error
    if around is None:
        raise NotComparedError("a text is encoded differently with special tokens around it than without")
    return around


def split_around(ids: list[int], inner: list[int]) -> tuple[list[int], list[int]] | None:
    """Return the ids before and after `inner`; None if `ids` does not contain it."""
    for start in range(len(ids) - len(inner) + 1):
        if ids[start : start + len(inner)] == inner:
            return ids[:start], ids[start + len(inner) :]
    return None


def find_affix_differences(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield how the tokens before and after a text differ.

    Raises:
        NotComparedError: As `affixes_of` does.
    """
    places = (("before", ADD_BOS), ("after", ADD_EOS))
    for (place, key), ours, theirs in zip(places, affixes_of(actual), affixes_of(expected), strict=True):
        if ours != theirs:
            message = f"the model adds {_list(ours, actual)} {place} a text, the reference {_list(theirs, expected)}"
            ids = list(dict.fromkeys([*ours, *theirs]))
            yield make_difference(Aspect.AFFIXES, ERROR, message, ids, facts=[place, ours, theirs], keys=(key,))


def _list(ids: list[int], tokenizer: Tokenizer) -> str:
    return list_tokens(ids, {id: tokenizer.piece(id) for id in ids}) or "nothing"
