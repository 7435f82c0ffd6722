"""Sample: a text to try, and Vocabulary: what there is to make texts of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tokverify.fuzz import alphabet

if TYPE_CHECKING:
    from tokverify.tokenizer import Tokenizer

_MAX_LENGTH = 500
"""Longer pieces, which only hostile vocabularies have, are left out."""
_MAX_UNIT = 2
_BROKEN = re.compile("[\ud800-\udfff]")


class Sample(NamedTuple):
    """A text to encode, with the options to encode it with."""

    text: str
    add_special: bool
    parse_special: bool


@dataclass(frozen=True)
class Vocabulary:
    """What generators know of a tokenizer: texts of its tokens, and texts to mutate.

    `texts` are what its tokens stand for, as far as that is text; `stored` are pieces that are spelled otherwise.
    `added` are the texts of its added tokens.
    """

    texts: Sequence[str]
    stored: Sequence[str] = ()
    added: Sequence[str] = ()
    corpus: Sequence[str] = ()

    @cached_property
    def units(self) -> Sequence[str]:
        """Texts of one or two characters."""
        return [text for text in self.texts if len(text) <= _MAX_UNIT] or ["a"]

    @cached_property
    def words(self) -> Sequence[str]:
        """Words among the texts, and some of many languages."""
        return [text for text in map(str.strip, self.texts) if text.isalpha()] + list(alphabet.WORDS) * 20


def vocabulary_of(tokenizer: Tokenizer, corpus: Sequence[str] = ()) -> Vocabulary:
    """Look at a tokenizer's vocabulary; added tokens are known only of an `Encoder`."""
    from tokverify.engine.encoder import Encoder

    ids = range(tokenizer.vocab_size)
    pieces = [tokenizer.piece(id) for id in ids]
    # A token without bytes, such as one typed UNUSED, can still come out of a text.
    bytes_of = [
        tokenizer.token_bytes(id) or piece.encode("utf-8", "surrogateescape") for id, piece in enumerate(pieces)
    ]
    texts = dict.fromkeys(_texts(data.decode("utf-8", "surrogateescape") for data in bytes_of))
    if isinstance(tokenizer, Encoder):
        added = [token.text for token in tokenizer.settings.added_tokens]
    else:
        added = [tokenizer.piece(id) for id in sorted(set(tokenizer.special_ids.values()))]
    return Vocabulary(
        list(texts),
        [piece for piece in _texts(pieces) if piece not in texts],
        list(_texts(added)),
        list(filter(None, corpus)),
    )


def _texts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield those pieces that are whole characters, and of a sensible length."""
    return (piece for piece in pieces if piece and len(piece) <= _MAX_LENGTH and not _BROKEN.search(piece))
