"""Split texts at hard boundaries: places that no merge can cross, so that splitting there does not change the result.

The first merge that crosses the boundary between two characters merges a symbol that ends with the first character and
a symbol that begins with the second. If no possible merge does that, the text can be split there exactly. The parts are
short, about one word each in most languages, and can be cached.

`pairs` are the two characters on either side of every place that a merge can cross. Lines and words are found fast, but
use few of the hard boundaries; parts use all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice, pairwise
from operator import add

SPACE = "▁"
LINE_FEED = "\n"
CUT = "\ud800"
"""A lone surrogate, which does not occur in texts that are UTF-8."""


def adjacent_pairs(pieces: Iterable[str]) -> set[str]:
    """Collect every two adjacent characters in the pieces, which must not contain NUL."""
    joined = "\0".join(pieces)
    pairs = set(map(add, joined, islice(joined, 1, None)))
    return {pair for pair in pairs if "\0" not in pair}


class PartSplitter(dict[str, str]):
    """Splits a text between every two characters that are not in `pairs`.

    Maps two adjacent characters to the second one, preceded by `CUT` if there is a hard boundary between them.
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
        if CUT in text:
            return self._split_at_pairs(text)
        following = map(self.__getitem__, map(add, text, islice(text, 1, None)))
        return (text[0] + "".join(following)).split(CUT)

    def _split_at_pairs(self, text: str) -> list[str]:
        """Split a text that contains `CUT` itself."""
        parts = [text[0]]
        for left, right in pairwise(text):
            if self[left + right] == right:
                parts[-1] += right
            else:
                parts.append(right)
        return parts


def line_splitter(pairs: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that splits a text before line feeds, or after those that a piece can include."""
    before = "".join(pair[0] for pair in pairs if pair[1] == LINE_FEED)
    after = "".join(pair[1] for pair in pairs if pair[0] == LINE_FEED)
    line = r"\n?[^\n]*"
    if before:
        inside = rf"(?<=[{_escape(before)}])\n"
        line += rf"(?:{inside}(?=[{_escape(after)}])[^\n]*)*" if after else ""
        line += rf"(?:{inside})?"
    find = re.compile(line).findall
    return lambda text: find(text)[:-1]


def word_splitter(pairs: Iterable[str], characters: Iterable[str], space: str = SPACE) -> Callable[[str], list[str]]:
    """Return the function that splits a text before spaces, and after punctuation that no piece continues.

    `characters` are those that are pieces.
    """
    before_space = {pair[0] for pair in pairs if pair[1] == space} - {space}
    # `re` uses a bitmap for characters up to U+FFFF, but searches a list of those above.
    ending = {*characters, *(pair[1] for pair in pairs)} - {pair[0] for pair in pairs} - {space}
    last = {character for character in ending if character <= "\uffff" and not character.isalnum()}
    end = f"[{_escape(last)}]?" if last else ""
    run = f"{space}*[^{space}{_escape(last)}]*{end}"
    glue = f"(?:(?<=[{_escape(before_space)}])(?={space}){run})*" if before_space else ""
    word = re.compile(run + glue)
    return lambda text: word.findall(text)[:-1]


def _escape(characters: Iterable[str]) -> str:
    return "".join(map(re.escape, sorted(characters)))
