"""Find tokens that two sides use in the same way, although only one of them matches them before its model runs.

A run of spaces, for example, is a user-defined token on one side; on the other, the model merges the spaces into the
same token. What decides is what a text with it is encoded to: alone, repeated, inside of words, and where pieces of the
vocabulary compete with the token for the characters at its ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tokverify.engine.joined_strings import join
from tokverify.engine.piece_index import index_pieces
from tokverify.spec import TokenType, ids_of_type
from tokverify.text.utf8 import encode_leniently, from_utf8, to_text
from tokverify.texts.batch import encode_all, ids_or_none
from tokverify.texts.mode import Mode, Modes
from tokverify.texts.vocabulary import types_of
from tokverify.tokenizer import Tokenizer, pieces_of

_MOST = 1_000
"""Of more tokens, none is tried: so many differ because types are missing."""
_CONTEXTS = ("a{}a", "A{}1", "{0}{0}", " {} ", "x {}", "{} x", ".{}.", "\n{}\n", "中{}中")
_END = b"\0"
"""What is before and after each stored string; no piece that matters contains it."""
_COMPETITORS = 6
"""How many pieces are tried at either end of a token, and how many that contain it."""
_MODES = (Mode(add_special=False, parse_special=True), Mode(add_special=False, parse_special=False))


def find_alike(actual: Tokenizer, expected: Tokenizer, ids: Sequence[int]) -> frozenset[int]:
    """Return those of some tokens with which all texts that were tried are encoded alike, to the token at least once.

    Both sides have these tokens, with the same bytes.
    """
    if not 0 < len(ids) <= _MOST:
        return frozenset()
    competing = _competing_in(expected)
    # What differs without the token, such as a character that only one side encodes as bytes, says nothing about it.
    without = _encode_both(actual, expected, [(context.format(""), _MODES[0]) for context in _CONTEXTS])
    pairs = zip(_CONTEXTS, without, strict=True)
    contexts = ["{}", *(context for context, (left, right) in pairs if left is not None and left == right)]
    # A text of another added token is matched as a whole, and what differs around that says nothing, either.
    others = set(ids_of_type(types_of(expected), TokenType.USER_DEFINED, TokenType.CONTROL)).difference(ids)
    asked = [(id, text, mode) for id in ids for text in competing.make_texts(id, contexts, others) for mode in _MODES]
    encoded = _encode_both(actual, expected, [(text, mode) for _, text, mode in asked])
    used, differing = set[int](), set[int]()
    for (id, _, _), (left, right) in zip(asked, encoded, strict=True):
        if left is None or left != right:
            differing.add(id)
        elif id in left:
            used.add(id)
    return frozenset(used - differing)


def _encode_both(
    actual: Tokenizer, expected: Tokenizer, asked: Sequence[tuple[str, Mode]]
) -> list[tuple[Sequence[int] | None, Sequence[int] | None]]:
    """Return what both sides encode texts to; None for what one cannot encode."""
    modes = Modes(actual, expected)
    texts, chosen = [text for text, _ in asked], [modes.choose(text, mode) for text, mode in asked]
    ours, theirs = (list(map(ids_or_none, encode_all(side, texts, chosen))) for side in (actual, expected))
    return list(zip(ours, theirs, strict=True))


def _competing_in(tokenizer: Tokenizer) -> _Competing:
    # A repair compares many variants of a file with one reference, and looking at all tokens takes half a second.
    # subtle: compared by identity, because a tokenizer of another package need not be hashable.
    if not _last or _last[0][0] is not tokenizer:
        _last[:] = [(tokenizer, _Competing(tokenizer))]
    return _last[0][1]


def _stored_bytes(strings: Sequence[str]) -> bytes:
    """Join the bytes of strings, which may hold surrogates that stand for no byte."""
    try:
        return join(strings)
    except UnicodeEncodeError:
        return encode_leniently("\0".join(strings))


_last: list[tuple[Tokenizer, _Competing]] = []
"""The last reference, and what was made for it."""


class _Competing:
    """Makes texts in which other pieces of a vocabulary compete with a token.

    They are looked for in all stored strings at once, because to ask for the bytes of each token takes long.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        pieces = pieces_of(tokenizer)
        self._stored = _END + _stored_bytes(pieces) + _END
        self._ids = index_pieces(pieces)

    def make_texts(self, id: int, contexts: Sequence[str], left_out: Collection[int]) -> Iterator[str]:
        """Yield texts with a token: in some contexts, and where other pieces compete with it, except some of them."""
        text, piece = from_utf8(self._tokenizer.token_bytes(id)), self._tokenizer.piece(id)
        if not text or not piece:
            return
        yield from (context.format(text) for context in contexts)
        # A string of byte-level BPE has one character for each byte.
        is_byte_level = len(piece) == len(text.encode())
        first, last = (len(end.encode()) if is_byte_level else 1 for end in (text[0], text[-1]))
        yield from (text + other[1:] for other in self._find(_END + _stored_bytes([piece[-last:]]), left_out))
        yield from (other[:-1] + text for other in self._find(_stored_bytes([piece[:first]]) + _END, left_out))
        yield from self._find(_stored_bytes([piece]), left_out)

    def _find(self, searched: bytes, left_out: Collection[int]) -> Iterator[str]:
        """Yield the texts of some tokens of several characters in whose stored string, with its ends, this occurs."""
        at, found = self._stored.find(searched), 0
        while at >= 0 and found < _COMPETITORS:
            start = self._stored.rfind(_END, 0, at + 1) + 1
            end = self._stored.find(_END, start)
            # A part of a piece with NUL is no piece.
            id = self._ids.get(to_text(self._stored[start:end]))
            text = "" if id is None or id in left_out else from_utf8(self._tokenizer.token_bytes(id))
            if text and len(text) > 1:
                found += 1
                yield text
            at = self._stored.find(searched, end)
