"""Decide the type of tokens that repeat one character, such as runs of newlines, which stay whole between letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tokverify.engine.encoder import Encoder
from tokverify.engine.normalizer import escape_spaces
from tokverify.errors import EncodeError, TokverifyError
from tokverify.spec import TokenizerSpec, TokenType

if TYPE_CHECKING:
    from tokverify.texts.batch import Queries

_LONGEST = 80
"""In characters; longer than most such tokens, so that several are needed."""

_TEXTS = 8
"""The number of runs of each character to encode."""


def find_user_defined_runs(
    queries: Queries, texts: Sequence[str | None], undecided: Set[int], known: Set[int], guess: TokenizerSpec
) -> set[int]:
    """Return those of the `undecided` tokens whose runs are encoded as if they were USER_DEFINED, unlike in `guess`.

    An ordinary long run is merged from its beginning or its end, a user-defined one is matched longest first. Tokens of
    the same character have the same type, except that a single one may be ordinary.

    Args:
        queries: The reference.
        texts: The text of each token; None if it has none.
        undecided: The tokens to decide about.
        known: The tokens that are known to be USER_DEFINED.
        guess: A tokenizer in which the undecided tokens are ordinary.
    """
    found: set[int] = set()
    groups: dict[str, set[int]] = {}
    for id in undecided:
        text = texts[id] or ""
        if len(set(text)) == 1:
            groups.setdefault(text[0], set()).add(id)
    groups = {character: members for character, members in groups.items() if len(members) > 1}
    if not groups:
        return found
    every = set().union(*groups.values())
    several = {id for id in every if len(texts[id] or "") > 1}
    variants: list[tuple[set[int], Encoder]] = []
    for members in (set[int](), several, every):
        with suppress(TokverifyError):
            variants.append((members, Encoder(_define(guess, members, texts))))
    # Spaces first: a literal ▁ tells whether tokens for them are ordinary. Other white space is alike if nothing tells.
    for character in sorted(groups, key=lambda character: character != " "):
        has_spaces = any((texts[id] or "").startswith("  ") for id in known | found)
        order = variants[::-1] if has_spaces and character.isspace() else variants
        found |= groups[character] & _choose(queries, character, order)
    return found


def find_singles(texts: Sequence[str | None], undecided: Set[int], known: Set[int]) -> set[int]:
    """Return the `undecided` tokens of one character whose longer runs are `known` to be USER_DEFINED.

    Most of them are, too, but ids do not reveal it.
    """
    runs = [text for text in (texts[id] or "" for id in known) if len(text) > 1 and len(set(text)) == 1]
    characters = {text[0] for text in runs} - {" "}
    return {id for id in undecided if texts[id] in characters}


def _define(guess: TokenizerSpec, ids: Iterable[int], texts: Sequence[str | None]) -> TokenizerSpec:
    types, tokens = list(guess.types or ()), list(guess.tokens)
    for id in ids:
        types[id] = TokenType.USER_DEFINED.value
        # Tokens that are matched in texts are stored with spaces, not with ▁.
        tokens[id] = texts[id] or ""
    return replace(guess, types=types, tokens=tokens)


def _choose(queries: Queries, character: str, variants: Sequence[tuple[set[int], Encoder]]) -> set[int]:
    """Return the tokens of the first of those variants that encode most runs of a character like the reference."""
    runs = [character * length for length in range(2, _LONGEST)]
    # An ordinary token for spaces also matches a literal ▁.
    runs += [escape_spaces(run) for run in runs[:_TEXTS] if character == " "]
    encodings = [[_encode(encoder, run) for run in runs] for _, encoder in variants]
    telling = [index for index in range(len(runs)) if len({tuple(ids[index]) for ids in encodings}) > 1][-_TEXTS:]
    expected = queries.encode_all([runs[index] for index in telling])
    counts = [sum(ids[index] == other for index, other in zip(telling, expected, strict=True)) for ids in encodings]
    return variants[counts.index(max(counts))][0]


def _encode(encoder: Encoder, text: str) -> list[int]:
    try:
        return encoder.encode(text, parse_special=False)
    except EncodeError:
        return []
