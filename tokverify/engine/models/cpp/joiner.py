"""Join the pieces of the C++ hybrid tokenizer line by line, so that the text encodes to the same ids again.

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
from tokverify.engine.models.cpp.spacing import Spacing, continues, has_space
from tokverify.engine.models.cpp.vocabulary import MARKERS, NEWLINES, SPECIAL
from tokverify.engine.normalizer import split_at_spaces
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import from_utf8

_ENDS = frozenset([*SPECIAL, *NEWLINES])
"""The tokens that end a line."""
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


class LineJoiner:
    """Joins pieces one by one; a line is complete when the next one begins."""

    def __init__(self) -> None:
        self._pieces: list[tuple[str, bytes]] = []
        self._before = ""
        self._hunks = HunkReader()

    def push(self, piece: str, token_bytes: bytes) -> bytes:
        """Take the next piece and its bytes; return the bytes that are now complete."""
        if piece not in _ENDS:
            self._pieces.append((piece, token_bytes))
            return b""
        # Two single newlines would be read as the token for two.
        gap = b" " if not self._pieces and self._before == NEWLINES[0] and piece in NEWLINES else b""
        line = self.finish()
        self._before = piece
        self._hunks.end_line(piece)
        return line + gap + token_bytes

    def finish(self) -> bytes:
        """Return the last line."""
        pieces, self._pieces = self._pieces, []
        line = _group_words(pieces)
        if line is None:
            return _join_by_rule(pieces)
        return self._hunks.write(line, write_line).encode()


def _group_words(pieces: list[tuple[str, bytes]]) -> list[str] | None:
    """Join the pieces of each word; None if a word is not UTF-8. Markers of a diff stay pieces."""
    words: list[bytes] = []
    for piece, token_bytes in pieces:
        if continues(piece) and words:
            words[-1] += token_bytes
        elif token_bytes:
            words.append(piece.encode() if piece in MARKERS else token_bytes)
    decoded = [from_utf8(word) for word in words]
    known = [word for word in decoded if word is not None]
    return known if len(known) == len(words) else None


def _join_by_rule(pieces: list[tuple[str, bytes]]) -> bytes:
    spacing = Spacing()
    return b"".join([spacing.push(*piece) for piece in pieces]) + spacing.finish()


_HEAD = re.compile(r"@@ - (\d+)(?: , (\d+))? \+ (\d+)(?: , (\d+))? @@(?: |\Z)")
"""The head of a hunk, with its words separated by spaces."""
_ADDED, _REMOVED = MARKERS
_NO_NEWLINE = ["\\", "No", "newline"]
"""The first words of the remark that a file does not end with a newline."""

WriteLine = Callable[[Sequence[str], frozenset[int]], str]


class HunkReader:
    """Counts the lines of the current hunk, so that unchanged lines are recognized."""

    def __init__(self) -> None:
        self._old = 0
        self._new = 0

    def write(self, line: Sequence[str], write_line: WriteLine) -> str:
        """Write a line, with the spaces that `patch` needs."""
        head = _HEAD.match(" ".join(line))
        if head:
            self._old, self._new = (int(head[group] or 1) for group in (2, 4))
            signs = len(head[0].split())
            return write_line(line, frozenset({1, line.index("+", 2), signs - 1, signs} & set(range(len(line)))))
        if not line or not (self._old or self._new) or [*line[:3]] == _NO_NEWLINE:
            return write_line(line, frozenset())
        is_added, is_removed = line[0] == _ADDED, line[0] == _REMOVED
        self._old -= self._old > 0 and not is_added
        self._new -= self._new > 0 and not is_removed
        return write_line(line, frozenset() if is_added or is_removed else frozenset({0}))

    def end_line(self, piece: str) -> None:
        """Take the token that ends a line; an empty line is unchanged, and special tokens end a hunk."""
        if piece not in NEWLINES:
            self._old = self._new = 0
        elif piece == NEWLINES[1]:
            self._old -= self._old > 0
            self._new -= self._new > 0


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
        by_rule[index] |= has_space(_text_of(before).encode(), _text_of(word).encode())
    # subtle: a word can contain the text of a special token only if these were not recognized.
    read = _read if not any(map(_SPECIAL.search, line)) else _read_ordinary
    if not line or read(_write(line, by_rule)) == line or not _can_be_read(line):
        return _write(line, by_rule)
    start = [place or inside for place, inside in zip(by_rule, _inside_literals(line), strict=True)]
    found = _adjust(line, start, spaced, read) or _adjust(line, [False] + [True] * (len(line) - 1), spaced, read)
    return _write(line, found or by_rule)


_remember = lru_cache(maxsize=4096)(_find_text)


def _text_of(word: str) -> str:
    return MARKERS.get(word, word)


def _write(line: Sequence[str], spaces: Sequence[bool]) -> str:
    return "".join(" " * space + _text_of(word) for space, word in zip(spaces, line, strict=True))


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
    texts = (_text_of(word), " " + word)
    return word in _PATH_PREFIXES or any([*words(text)] == [word] for text in texts)


def _inside_literals(line: Sequence[str]) -> list[bool]:
    """Check for each word whether it continues a literal, if all words are separated by spaces."""
    inside: list[bool] = []
    for chunk in split(rewrite(" ".join(map(_text_of, line)))):
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
