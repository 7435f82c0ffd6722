"""Hard boundaries: places in a text that no merge can ever cross, so that it can be cut there without any effect.

A merge that is the first to cross the boundary between two characters joins a symbol that ends in the one with a
symbol that begins with the other. If no possible merge does, the text falls apart there exactly. The parts are short,
about a word each in most languages, and can be encoded once and remembered.

`pairs` are the two characters on either side of every place that some merge can cross. Lines and words are cut at few
of the hard boundaries, but fast; parts at all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from operator import add

SPACE = "▁"
LINE_FEED = "\n"
CUT = "\ud800"
"""A lone surrogate: no text that can be encoded holds one."""


def adjacent_pairs(pieces: Iterable[str]) -> set[str]:
    """Collect each two characters that stand side by side in some piece; no piece may hold a NUL."""
    joined = "\0".join(pieces)
    pairs = set(map(add, joined, islice(joined, 1, None)))
    return {pair for pair in pairs if "\0" not in pair}


class PartSplitter(dict[str, str]):
    """Cuts a text between every two characters that are not among `pairs`.

    Maps two neighboring characters to what follows the first: the second, after a cut where there is a hard boundary.
    """

    ENTRIES = 1 << 20

    def __init__(self, pairs: Iterable[str]) -> None:
        super().__init__((pair, pair[1]) for pair in pairs)

    def __missing__(self, pair: str) -> str:
        following = CUT + pair[1]
        if len(self) < self.ENTRIES:
            self[pair] = following
        return following

    def split(self, text: str) -> list[str]:
        """Return the parts of `text`, which must not be empty."""
        following = map(self.__getitem__, map(add, text, islice(text, 1, None)))
        return (text[0] + "".join(following)).split(CUT)


def line_splitter(pairs: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that cuts a text before line feeds, and after those that a piece goes on to."""
    before = "".join(pair[0] for pair in pairs if pair[1] == LINE_FEED)
    after = "".join(pair[1] for pair in pairs if pair[0] == LINE_FEED)
    line = r"\n?[^\n]*"
    if before:
        inside = rf"(?<=[{_escaped(before)}])\n"
        line += rf"(?:{inside}(?=[{_escaped(after)}])[^\n]*)*" if after else ""
        line += rf"(?:{inside})?"
    find = re.compile(line).findall
    return lambda text: find(text)[:-1]


def word_splitter(pairs: Iterable[str], characters: Iterable[str], space: str = SPACE) -> Callable[[str], list[str]]:
    """Return the function that cuts a text before spaces, and after punctuation that no piece goes on from.

    `characters` are those that are pieces by themselves.
    """
    before_space = {pair[0] for pair in pairs if pair[1] == space} - {space}
    # `re` looks characters up to U+FFFF up in a bitmap, but walks through a list of those above.
    ending = {*characters, *(pair[1] for pair in pairs)} - {pair[0] for pair in pairs} - {space}
    last = {character for character in ending if character <= "\uffff" and not character.isalnum()}
    end = f"[{_escaped(last)}]?" if last else ""
    run = f"{space}*[^{space}{_escaped(last)}]*{end}"
    glue = f"(?:(?<=[{_escaped(before_space)}])(?={space}){run})*" if before_space else ""
    word = re.compile(run + glue)
    return lambda text: word.findall(text)[:-1]


def _escaped(characters: Iterable[str]) -> str:
    return "".join(map(re.escape, sorted(characters)))
