"""Split a text at its added tokens, before any other stage.

llama.cpp processes the added tokens from the longest to the shortest, and splits the remaining text at every occurrence
of each. Its sort leaves tokens of equal length in an order of its own (see `tokverify.engine.introsort`). Scanning the
text from left to right and taking the longest token at each position is much faster, and gives the same result unless a
token can begin inside another one that is not longer. This is determined once for each set of tokens, and the literal
algorithm is used if it matters.

Source: `llama_vocab::impl::tokenizer_st_partition` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain, groupby
from operator import itemgetter

from tokverify.engine.added_token_overlap import can_overlap
from tokverify.engine.introsort import introsort
from tokverify.spec import AddedToken
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import has_lone_byte, to_bytes

SPACES = " \t\n\v\f\r"
"""The whitespace of C's `isspace`, which `lstrip` and `rstrip` use."""

LONGEST = 128
"""In characters; for longer added tokens, finding overlaps and building a pattern would take too long."""

_FEW = 64
_FEW_CHARACTERS = 50_000
_WORD = re.compile(r"\w")
_NOTHING = re.compile(r"(?!)")
_LONGEST_BEGINNING = 16

Fragment = str | int
"""A stretch of text, never empty, or the id of an added token."""


def sort_longest_first(ids: Iterable[int], pieces: Sequence[str] | Mapping[int, str]) -> list[int]:
    """Sort added tokens, given in ascending order, as llama.cpp does; those of equal length get an order of its own."""
    ids = list(ids)
    return [ids[place] for place in _order_by_length(tuple(len(to_bytes(pieces[id])) for id in ids))]


@lru_cache(maxsize=4)  # candidates for a repair mostly have the same added tokens, of which there may be thousands
def _order_by_length(lengths: tuple[int, ...]) -> Sequence[int]:
    return introsort(range(len(lengths)), key=lambda place: -lengths[place])


def splitter(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    """Return a function that splits a text at `tokens`, which must be sorted longest first, in bytes."""
    split = _splitter(tokens)
    partial = [to_bytes(token.text) for token in tokens if has_lone_byte(token.text)]
    if not partial:
        return split

    def split_carefully(text: str) -> list[Fragment]:
        data = text.encode()
        return split_bytes(data, tokens) if any(part in data for part in partial) else split(text)

    return split_carefully


def split_bytes(data: bytes, tokens: Sequence[AddedToken]) -> list[Fragment]:
    """Split a text in which a token is part of a character; the rest of the character becomes lone bytes.

    A lone byte is a lone surrogate (`surrogateescape`) and occurs only at the ends of a fragment.
    """
    # With each byte written as one character, the literal algorithm works on bytes as well.
    in_bytes = [replace(token, text=to_bytes(token.text).decode("latin-1")) for token in tokens]
    fragments = split_longest_first(data.decode("latin-1"), in_bytes)
    return [fragment if isinstance(fragment, int) else _decode(fragment) for fragment in fragments]


def _decode(fragment: str) -> str:
    return fragment.encode("latin-1").decode("utf-8", "surrogateescape")


def _splitter(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    if not tokens:
        return lambda text: [text] if text else []
    select = selector(tokens)

    @cache
    def scanner() -> Callable[[str], list[Fragment]] | None:
        return _exact_scanner(tuple(tokens))

    seen = 0

    def split(text: str) -> list[Fragment]:
        nonlocal seen
        seen += len(text)
        # A pattern of thousands of tokens takes longer to build than to split a few texts without it.
        scan = scanner() if seen > _FEW_CHARACTERS else None
        return scan(text) if scan else split_longest_first(text, select(text))

    return split


def selector(tokens: Sequence[AddedToken]) -> Callable[[str], Sequence[AddedToken]]:
    """Return a function that selects the tokens that may occur in a text, in their order.

    It looks up the beginning of each, whose length is a power of two, so that a text is not searched for every token.
    Where thousands begin alike, such as `<unused7>`, it looks up what stands there, too.
    """
    if len(tokens) <= _FEW:
        return lambda _: tokens
    by_length: dict[int, dict[str, dict[str, list[int]]]] = {}
    for index, token in enumerate(tokens):
        length = min(1 << (len(token.text).bit_length() - 1), _LONGEST_BEGINNING)
        by_text = by_length.setdefault(length, {}).setdefault(token.text[:length], {})
        by_text.setdefault(token.text, []).append(index)
    crowds = {
        beginning: {*map(len, by_text)}
        for by_beginning in by_length.values()
        for beginning, by_text in by_beginning.items()
        if len(by_text) > _FEW
    }

    def select(text: str) -> Sequence[AddedToken]:
        found: list[int] = []
        for length, by_beginning in by_length.items():
            stretches = {text[start : start + length] for start in range(len(text) - length + 1)}
            for beginning in stretches & by_beginning.keys():
                by_text = by_beginning[beginning]
                lengths = crowds.get(beginning)
                occurring = by_text.keys() & _cut(text, beginning, lengths) if lengths else by_text
                found += chain.from_iterable(by_text[each] for each in occurring)
        return [tokens[index] for index in sorted(found)]

    return select


def _cut(text: str, beginning: str, lengths: Collection[int]) -> set[str]:
    """Return what a text has of these lengths wherever it has a beginning."""
    places = [match.start() for match in re.finditer(f"(?={re.escape(beginning)})", text)]
    return {text[start : start + length] for start in places for length in lengths}


def locate(data: bytes, fragments: Sequence[Fragment], pieces: Mapping[int, str]) -> list[tuple[Fragment, int, int]]:
    """Return the start and end of each fragment in bytes of the text; stripped whitespace is between them."""
    located: list[tuple[Fragment, int, int]] = []
    done = 0
    for fragment in fragments:
        written = to_bytes(pieces[fragment] if isinstance(fragment, int) else fragment)
        start = data.index(written, done)
        done = start + len(written)
        located.append((fragment, start, done))
    return located


def split_longest_first(text: str, tokens: Sequence[AddedToken]) -> list[Fragment]:
    """Split `text` at each of `tokens` in turn; takes time proportional to their number."""
    fragments: list[Fragment] = [text] if text else []
    for token in tokens:
        if token.text in text:
            parts = (_split_at(fragment, token) for fragment in fragments)
            fragments = list(chain.from_iterable(parts))
    return fragments


def _split_at(fragment: Fragment, token: AddedToken) -> list[Fragment]:
    if isinstance(fragment, int):
        return [fragment]
    fragments: list[Fragment] = []
    done = 0
    while (start := fragment.find(token.text, done)) >= 0:
        left = fragment[done:start]
        left = left.rstrip(SPACES) if token.lstrip else left
        fragments += [left, token.id] if left else [token.id]
        done = start + len(token.text)
        while token.rstrip and fragment[done : done + 1] in {*SPACES}:
            done += 1
    return [*fragments, fragment[done:]] if done < len(fragment) else fragments


def split_leftmost(
    text: str, tokens: Sequence[AddedToken], *, parse_special: bool, single_words: Collection[int] = ()
) -> list[Fragment]:
    """Split `text` as HuggingFace tokenizers does: at each position, from left to right, at the longest token.

    Args:
        text: The text.
        tokens: The tokens to split at, in any order; special ones are found but not split at without `parse_special`.
        parse_special: Whether to split at special tokens.
        single_words: The ids of those that are matched only where no letter, digit or underscore touches them.

    Source: `AddedVocabulary::find_matches` in the library's `tokenizer/added_vocabulary.rs`.
    """
    by_text = {token.text: token for token in tokens if token.text in text}
    pattern = re.compile(prefix_tree_pattern(sorted(by_text))) if by_text else _NOTHING
    fragments: list[Fragment] = []
    done = 0
    for match in pattern.finditer(text):
        token, (start, end) = by_text[match.group()], match.span()
        touched = _WORD.match(text[max(0, start - 1) : start]) or _WORD.match(text[end : end + 1])
        if start < done or (token.special and not parse_special) or (token.id in single_words and touched):
            continue
        while token.lstrip and start > done and text[start - 1].isspace():
            start -= 1
        while token.rstrip and text[end : end + 1].isspace():
            end += 1
        fragments += [text[done:start], token.id] if start > done else [token.id]
        done = end
    return [*fragments, text[done:]] if done < len(text) else fragments


@lru_cache(maxsize=2)  # candidates for a repair mostly have the same added tokens
def _exact_scanner(tokens: tuple[AddedToken, ...]) -> Callable[[str], list[Fragment]] | None:
    """Return a scanner; None if it could split otherwise than llama.cpp."""
    is_unusual = any(token.lstrip or token.rstrip or len(token.text) > LONGEST for token in tokens)
    return None if is_unusual or can_overlap(tuple(token.text for token in tokens)) else _scanner(tokens)


def _scanner(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    """Return a function that finds the longest token at each position, from left to right; of equal ones, the first."""
    ids = {token.text: token.id for token in reversed(tokens)}
    split = re.compile(f"({prefix_tree_pattern(sorted(ids))})").split

    def scan(text: str) -> list[Fragment]:
        parts: list[str] = split(text)
        fragments: list[Fragment] = [*parts]
        fragments[1::2] = map(ids.__getitem__, parts[1::2])
        return [fragment for fragment in fragments if fragment != ""]

    return scan


def prefix_tree_pattern(texts: Sequence[str]) -> str:
    """Return a pattern for the longest of the sorted `texts` that examines each character once."""
    length = common_length(texts[0], texts[-1])
    rests = [text[length:] for text in texts]
    branches = ["".join(prefix_tree_pattern(list(group))) for _, group in groupby(filter(None, rests), itemgetter(0))]
    pattern = re.escape(texts[0][:length])
    if not branches:
        return pattern
    return f"{pattern}(?:{'|'.join(branches)}){'?' if '' in rests else ''}"
