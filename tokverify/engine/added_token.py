"""Split a text at its added tokens, before anything else touches it.

llama.cpp takes the added tokens longest first and cuts every occurrence of each out of what is still text. Reading the
text from left to right and taking the longest token at each position is much faster, and gives the same result unless
one token can begin inside another that is not longer. That is decided once for each set of tokens, and the literal
algorithm serves where it matters.

Source: `llama_vocab::impl::tokenizer_st_partition` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from tokverify.text.sequence import common_length
from tokverify.text.utf8 import has_lone_byte, to_bytes

if TYPE_CHECKING:
    from tokverify.spec import AddedToken

SPACES = " \t\n\v\f\r"
"""What C's `isspace` takes for whitespace; `lstrip` and `rstrip` go by it."""

LONGEST = 128
"""Among longer added tokens, in characters, looking for overlaps and building a pattern would take too much."""

Fragment = str | int
"""A stretch of text, never empty, or the id of an added token."""


def splitter(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    """Return the function that splits a text at `tokens`, given longest first in bytes."""
    split = _splitter(tokens)
    partial = [to_bytes(token.text) for token in tokens if has_lone_byte(token.text)]
    if not partial:
        return split

    def split_carefully(text: str) -> list[Fragment]:
        data = text.encode()
        return split_bytes(data, tokens) if any(part in data for part in partial) else split(text)

    return split_carefully


def split_bytes(data: bytes, tokens: Sequence[AddedToken]) -> list[Fragment]:
    """Split a text where a token is a part of a character; the other parts are left as lone bytes.

    A lone byte is a lone surrogate (`surrogateescape`). They stand at the ends of a fragment only.
    """
    # Of bytes, too, written one to a character, the literal algorithm makes the same.
    in_bytes = [replace(token, text=to_bytes(token.text).decode("latin-1")) for token in tokens]
    return [
        fragment if isinstance(fragment, int) else fragment.encode("latin-1").decode("utf-8", "surrogateescape")
        for fragment in split_longest_first(data.decode("latin-1"), in_bytes)
    ]


def _splitter(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    if not tokens:
        return lambda text: [text] if text else []
    unusual = any(token.lstrip or token.rstrip or len(token.text) > LONGEST for token in tokens)
    if unusual or can_overlap([token.text for token in tokens]):
        return lambda text: split_longest_first(text, tokens)
    return _scanner(tokens)


def locate(data: bytes, fragments: Sequence[Fragment], pieces: Mapping[int, str]) -> list[tuple[Fragment, int, int]]:
    """Return at which bytes of a text each of its fragments stands; stripped whitespace lies between them."""
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
            fragments = [
                part
                for fragment in fragments
                for part in ([fragment] if isinstance(fragment, int) else _split_at(fragment, token))
            ]
    return fragments


def _split_at(text: str, token: AddedToken) -> list[Fragment]:
    fragments: list[Fragment] = []
    done = 0
    while (start := text.find(token.text, done)) >= 0:
        left = text[done:start]
        left = left.rstrip(SPACES) if token.lstrip else left
        fragments += [left, token.id] if left else [token.id]
        done = start + len(token.text)
        while token.rstrip and text[done : done + 1] in {*SPACES}:
            done += 1
    return [*fragments, text[done:]] if done < len(text) else fragments


def can_overlap(texts: Sequence[str]) -> bool:
    """Whether some token can begin inside another one that is not longer, so that the two algorithms differ.

    An overlap that a still longer token would win anyway, as in runs of one character, does not count.
    """
    prefixes: dict[str, list[str]] = {}
    for text in texts:
        for end in range(1, len(text) + 1):
            prefixes.setdefault(text[:end], []).append(text)
    lengths = {text: len(text.encode("utf-8", "surrogateescape")) for text in texts}
    return any(
        lengths[rival] >= lengths[text] and rival != text and not _begins_longer(text[:start] + rival, text, lengths)
        for text in texts
        for start in range(1, len(text))
        for rival in prefixes.get(text[start:], ())
    )


def _begins_longer(union: str, text: str, known: Container[str]) -> bool:
    return any(union[:end] in known for end in range(len(text) + 1, len(union) + 1))


def _scanner(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    """Return the function that finds the longest token at each position, from left to right."""
    ids = {token.text: token.id for token in tokens}
    split = re.compile(f"({prefix_tree_pattern(sorted(ids))})").split

    def scan(text: str) -> list[Fragment]:
        parts: list[str] = split(text)
        fragments: list[Fragment] = [*parts]
        fragments[1::2] = map(ids.__getitem__, parts[1::2])
        return [fragment for fragment in fragments if fragment != ""]

    return scan


def prefix_tree_pattern(texts: Sequence[str]) -> str:
    """Return a pattern for the longest of `texts`, sorted, that looks at each character once."""
    length = common_length(texts[0], texts[-1])
    rests = [text[length:] for text in texts]
    branches = ["".join(prefix_tree_pattern(list(group))) for _, group in groupby(filter(None, rests), itemgetter(0))]
    pattern = re.escape(texts[0][:length])
    if not branches:
        return pattern
    return f"{pattern}(?:{'|'.join(branches)}){'?' if '' in rests else ''}"
