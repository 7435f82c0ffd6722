"""Compare the tokens that two tokenizers add around a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.compare.digest import make_difference
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.finding import ERROR, WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.sources.gguf.keys import ADD_BOS, ADD_EOS
from tokverify.text.wording import list_tokens
from tokverify.texts.batch import NotComparedError

if TYPE_CHECKING:
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
            severity, origin = ERROR, Origin.UNKNOWN
            if isinstance(actual, Encoder) and cannot_add(ours, theirs):
                message = f"{message} (llama.cpp adds at most one token there)"
                severity, origin = WARNING, Origin.RUNTIME
            ids = list(dict.fromkeys([*ours, *theirs]))
            facts = [place, ours, theirs]
            difference = make_difference(Aspect.AFFIXES, severity, message, ids, facts=facts, keys=(key,))
            yield replace(difference, origin=origin)


def cannot_add(ours: Sequence[int], theirs: Sequence[int]) -> bool:
    """Whether one side of a text differs only because llama.cpp adds no more than one token there."""
    return len(theirs) > 1 and len(ours) <= 1 and set(ours) <= set(theirs)


def _list(ids: list[int], tokenizer: Tokenizer) -> str:
    return list_tokens(ids, {id: tokenizer.piece(id) for id in ids}) or "nothing"
