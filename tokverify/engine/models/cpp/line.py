"""Write the words of a line so that encoding the text gives the same words again.

The rule of the design document leaves out most spaces, and some of them matter: `a - -b` is not `a--b`, and a line that
begins with `+` is a line of a diff. So the text is split again, and a space is inserted, or left out, where the words
would differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise

from tokverify.engine.models.cpp.pattern import rewrite, split, words
from tokverify.engine.models.cpp.spacing import has_space
from tokverify.engine.models.cpp.vocabulary import MARKERS, SPECIAL
from tokverify.engine.normalizer import split_at_spaces
from tokverify.text.sequence import common_length

_SPECIAL = re.compile("|".join(map(re.escape, SPECIAL)))
_QUOTE = re.compile("[\"']").search
_PATH_PREFIXES = {"a/", "b/"}
"""What is a word only in certain lines of a diff."""
_NEAR = 4
"""How many places before and after the first difference are tried."""
_MOST_READS = 12
"""How many texts are split to find the right one; lines of code need at most 10."""
_MOST_WORDS = 1_500
"""How many words these texts may have together, so that long lines do not take long."""
_LONG = 1000
"""The number of words from which on the text of a line is not remembered."""


def write_line(line: Sequence[str], spaced: frozenset[int] = frozenset()) -> str:
    """Return a text that is split into the words of `line`; the rule's text if none is found.

    The markers of a diff are given by their pieces, such as `<DIFF_ADD>`. There is always a space before the words
    whose indexes are in `spaced`.
    """
    # A repair decodes the same lines again after each change.
    write = _remember if len(line) < _LONG else _find_text
    return write(tuple(line), spaced)


def _find_text(words_of_line: tuple[str, ...], spaced: frozenset[int]) -> str:
    line = [*words_of_line]
    by_rule = [index in spaced for index in range(len(line))]
    for index, (before, word) in enumerate(pairwise(line), start=1):
        by_rule[index] |= has_space(_text(before).encode(), _text(word).encode())
    # subtle: a word can contain the text of a special token only if these were not recognized.
    read = _read if not any(map(_SPECIAL.search, line)) else _read_ordinary
    if not line or read(_write(line, by_rule)) == line or not _can_be_read(line):
        return _write(line, by_rule)
    start = [place or inside for place, inside in zip(by_rule, _inside_literals(line), strict=True)]
    found = _adjust(line, start, spaced, read) or _adjust(line, [False] + [True] * (len(line) - 1), spaced, read)
    return _write(line, found or by_rule)


_remember = lru_cache(maxsize=4096)(_find_text)


def _text(word: str) -> str:
    return MARKERS.get(word, word)


def _write(line: Sequence[str], spaces: Sequence[bool]) -> str:
    return "".join(" " * space + _text(word) for space, word in zip(spaces, line, strict=True))


def _read(text: str) -> list[str]:
    """Split a line into words; a special token in it is one word, which no line contains."""
    special = _SPECIAL.search(text)
    return list(words(text)) if special is None else [*words(text[: special.start()]), special[0]]


def _read_ordinary(text: str) -> list[str]:
    return list(words(text))


def _can_be_read(line: Sequence[str]) -> bool:
    """Check whether each word can occur in a text; in a line with quotes, almost every word can."""
    return any(map(_QUOTE, line)) or all(map(_is_word, line))


@lru_cache(maxsize=1 << 16)
def _is_word(word: str) -> bool:
    # Some words differ at the beginning of a line.
    texts = (_text(word), " " + word)
    return word in _PATH_PREFIXES or any([*words(text)] == [word] for text in texts)


def _inside_literals(line: Sequence[str]) -> list[bool]:
    """Check for each word whether it continues a literal, if all words are separated by spaces."""
    inside: list[bool] = []
    for chunk in split(rewrite(" ".join(map(_text, line)))):
        inside += (index > 0 for index in range(len(split_at_spaces(chunk))))
    return inside if len(inside) == len(line) else [False] * len(line)


def _adjust(
    line: list[str], spaces: list[bool], spaced: frozenset[int], read: Callable[[str], list[str]]
) -> list[bool] | None:
    """Insert or remove one space after the other until the words are right; None if that does not succeed."""
    result = read(_write(line, spaces))
    same = common_length(result, line)
    left = min(_MOST_READS, _MOST_WORDS // len(line))
    while result != line:
        for place in islice(_places_near(same, len(line)), left):
            left -= 1
            changed = [*spaces]
            changed[place] = not changed[place]
            result = read(_write(line, changed))
            if place not in spaced and (result == line or common_length(result, line) > same):
                spaces, same = changed, common_length(result, line)
                break
        else:
            return None
    return spaces


def _places_near(place: int, length: int) -> Iterator[int]:
    for distance in range(_NEAR + 1):
        yield from (near for near in {place + distance, place - distance} if 0 < near < length)
    yield 0
