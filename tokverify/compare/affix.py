"""Compare what two tokenizers add around a text: tokens, and a space before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tokverify.compare.digest import make_difference
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, NotComparedError, UnsupportedError
from tokverify.report.finding import ERROR, WARNING
from tokverify.report.tokenizer_difference import Aspect, Origin, TokenizerDifference
from tokverify.sources.gguf.keys import ADD_BOS, ADD_EOS, ADD_SPACE_PREFIX
from tokverify.text.wording import list_tokens
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
    """Yield how the tokens before and after a text differ, and a space before it that llama.cpp cannot add.

    Raises:
        NotComparedError: As `affixes_of` does.
    """
    yield from _find_missing_space(actual, expected)
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


def _find_missing_space(actual: Tokenizer, expected: Tokenizer) -> Iterator[TokenizerDifference]:
    """Yield that only the reference adds a space before a text, for BPE.

    It is an error although no file can change it, as nearly every text has other ids.
    """
    if not isinstance(actual, Encoder) or not actual.settings.family.is_bpe:
        return
    if _begins_with_space(expected) and not _begins_with_space(actual):
        message = "the reference adds a space before each text, which llama.cpp never does for BPE"
        yield make_difference(
            Aspect.AFFIXES, ERROR, message, facts="space", keys=(ADD_SPACE_PREFIX,), origin=Origin.RUNTIME
        )


def _begins_with_space(tokenizer: Tokenizer) -> bool:
    """Whether the ids of a text without a space at its beginning have one there."""
    try:
        ids = tokenizer.encode(_TEXT, add_special=False, parse_special=False)
        return bool(ids) and (tokenizer.token_bytes(ids[0]) or b"").startswith(b" ")
    except (EncodeError, UnsupportedError):
        return False


def cannot_add(ours: Sequence[int], theirs: Sequence[int]) -> bool:
    """Whether one side of a text differs only because llama.cpp adds no more than one token there."""
    return len(theirs) > 1 and len(ours) <= 1 and set(ours) <= set(theirs)


def _list(ids: list[int], tokenizer: Tokenizer) -> str:
    return list_tokens(ids, {id: tokenizer.piece(id) for id in ids}) or "nothing"
