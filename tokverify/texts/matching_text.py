"""Find tokens that two sides use in the same way, although only one of them matches them before its model runs.

A run of spaces, for example, is a user-defined token on one side; on the other, the model merges the spaces into the
same token. What decides is what a text with it is encoded to: alone, repeated, inside of words, and where pieces of the
vocabulary compete with the token for the characters at its ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tokverify.texts.batch import encode_all, ids_or_none
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Tokenizer, pieces_of

_MOST = 1_000
"""Of more tokens, none is tried: so many differ because types are missing."""
_CONTEXTS = ("{}", "a{}a", "A{}1", "{0}{0}", " {} ", "x {}", "{} x", ".{}.", "\n{}\n", "中{}中")
_COMPETITORS = 6
"""How many pieces are tried at either end of a token, and how many that contain it."""
_MODES = (Mode(add_special=False, parse_special=True), Mode(add_special=False, parse_special=False))


def find_alike(actual: Tokenizer, expected: Tokenizer, ids: Sequence[int]) -> frozenset[int]:
    """Return those of some tokens with which all texts that were tried are encoded alike, to the token at least once.

    Args:
        actual: One side.
        expected: The other.
        ids: Tokens that both sides have, with the same bytes.
    """
    if not 0 < len(ids) <= _MOST:
        return frozenset()
    competing = _competing_in(expected)
    asked = [(id, text, mode) for id in ids for text in competing.make_texts(id) for mode in _MODES]
    modes = Modes(actual, expected)
    texts, chosen = [text for _, text, _ in asked], [modes.choose(text, mode) for _, text, mode in asked]
    ours, theirs = (list(map(ids_or_none, encode_all(side, texts, chosen))) for side in (actual, expected))
    used, differing = set[int](), set[int]()
    for (id, _, _), left, right in zip(asked, ours, theirs, strict=True):
        if left is None or left != right:
            differing.add(id)
        elif id in left:
            used.add(id)
    return frozenset(used - differing)


def _competing_in(tokenizer: Tokenizer) -> _Competing:
    # A repair compares many variants of a file with one reference, and looking at all tokens takes half a second.
    # subtle: compared by identity, because a tokenizer of another package need not be hashable.
    if not _last or _last[0][0] is not tokenizer:
        _last[:] = [(tokenizer, _Competing(tokenizer))]
    return _last[0][1]


_last: list[tuple[Tokenizer, _Competing]] = []
"""The last reference, and what was made for it."""


class _Competing:
    """Makes texts in which other pieces of a vocabulary compete with a token."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._texts: list[str] = []
        self._beginning: dict[str, list[str]] = defaultdict(list)
        self._ending: dict[str, list[str]] = defaultdict(list)
        for id in range(len(pieces_of(tokenizer))):
            text = self._text_of(id)
            if len(text) > 1:
                self._texts.append(text)
                for known, character in ((self._beginning, text[0]), (self._ending, text[-1])):
                    if len(known[character]) < _COMPETITORS:
                        known[character].append(text)
        self._joined = "\0".join(self._texts)

    def _text_of(self, id: int) -> str:
        try:
            return self._tokenizer.token_bytes(id).decode()
        except UnicodeDecodeError:
            return ""

    def make_texts(self, id: int) -> Iterator[str]:
        text = self._text_of(id)
        if not text:
            return
        yield from (context.format(text) for context in _CONTEXTS)
        yield from (text + other[1:] for other in self._beginning[text[-1]])
        yield from (other[:-1] + text for other in self._ending[text[0]])
        yield from self._find_containing(text)

    def _find_containing(self, text: str) -> Iterator[str]:
        at = self._joined.find(text)
        for _ in range(_COMPETITORS):
            if at < 0:
                return
            start, end = self._joined.rfind("\0", 0, at) + 1, self._joined.find("\0", at)
            yield self._joined[start : end if end >= 0 else None]
            at = self._joined.find(text, at + len(text))
