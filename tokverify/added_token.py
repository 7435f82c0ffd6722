"""Split a text at its added tokens, before anything else touches it.

llama.cpp takes the added tokens longest first and cuts every occurrence of each out of what is still text. Reading the
text from left to right and taking the longest token at each position is much faster, and gives the same result unless
one token can begin inside another that is not longer. That is decided once for each set of tokens, and the literal
algorithm serves where it matters.

Source: `llama_vocab::impl::tokenizer_st_partition` in llama.cpp's `src/llama-vocab.cpp`.
"""

from __future__ import annotations

import re
from itertools import groupby, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING

from tokverify.errors import EncodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from tokverify.spec import AddedToken

SPACES = " \t\n\v\f\r"
"""What C's `isspace` takes for whitespace; `lstrip` and `rstrip` go by it."""

LONGEST = 128
"""Among longer added tokens, in characters, looking for overlaps and building a pattern would take too much."""

Fragment = str | int
"""A stretch of text, never empty, or the id of an added token."""


def splitter(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    """Return the function that splits a text at `tokens`, given longest first in bytes.

    It raises EncodeError where llama.cpp, which looks for bytes, would cut a character in two.
    """
    split = _splitter(tokens)
    partial = {token.id: token.text.encode("utf-8", "surrogateescape") for token in tokens if _is_partial(token.text)}

    def split_carefully(text: str) -> list[Fragment]:
        found = next((id for id, part in partial.items() if part in text.encode()), None)
        if found is not None:
            raise EncodeError(f"added token {found} is not UTF-8 and matches inside a character, which is unsupported")
        return split(text)

    return split_carefully if partial else split


def _is_partial(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


def _splitter(tokens: Sequence[AddedToken]) -> Callable[[str], list[Fragment]]:
    if not tokens:
        return lambda text: [text] if text else []
    unusual = any(token.lstrip or token.rstrip or len(token.text) > LONGEST for token in tokens)
    if unusual or can_overlap([token.text for token in tokens]):
        return lambda text: split_longest_first(text, tokens)
    return _scanner(tokens)


def locate(text: str, fragments: Sequence[Fragment], pieces: Mapping[int, str]) -> list[tuple[Fragment, int, int]]:
    """Return where in `text`, in characters, each of its fragments stands; stripped whitespace lies between them."""
    located: list[tuple[Fragment, int, int]] = []
    done = 0
    for fragment in fragments:
        written = pieces[fragment] if isinstance(fragment, int) else fragment
        start = text.index(written, done)
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
    common = _common_prefix(texts[0], texts[-1])
    rests = [text[len(common) :] for text in texts]
    branches = ["".join(prefix_tree_pattern(list(group))) for _, group in groupby(filter(None, rests), itemgetter(0))]
    pattern = re.escape(common)
    if not branches:
        return pattern
    return f"{pattern}(?:{'|'.join(branches)}){'?' if '' in rests else ''}"


def _common_prefix(first: str, last: str) -> str:
    return "".join(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
