"""A text to try, and the vocabulary that generators build texts from."""

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
"""In characters. Only hostile vocabularies have longer pieces; they are ignored."""
_MAX_UNIT = 2
_SURROGATE = re.compile("[\ud800-\udfff]")


class Sample(NamedTuple):
    """A text to encode, with the options to encode it with."""

    text: str
    add_special: bool
    parse_special: bool


@dataclass(frozen=True)
class Vocabulary:
    """What generators know about a tokenizer."""

    texts: Sequence[str]
    """The texts that its tokens represent, except for tokens that are not whole characters."""

    stored: Sequence[str] = ()
    """Pieces that differ from the text they represent, such as `▁the`."""

    added: Sequence[str] = ()
    """The texts of its added tokens."""

    corpus: Sequence[str] = ()
    """Texts to mutate."""

    @cached_property
    def units(self) -> Sequence[str]:
        """Texts of one or two characters."""
        return [text for text in self.texts if len(text) <= _MAX_UNIT] or ["a"]

    @cached_property
    def words(self) -> Sequence[str]:
        """The words among the texts, and words of many languages."""
        return [text for text in map(str.strip, self.texts) if text.isalpha()] + list(alphabet.WORDS) * 20


def vocabulary_of(tokenizer: Tokenizer, corpus: Sequence[str] = ()) -> Vocabulary:
    """Collect a tokenizer's vocabulary; only an `Encoder` knows all of its added tokens."""
    from tokverify.engine.encoder import Encoder

    ids = range(tokenizer.vocab_size)
    pieces = [tokenizer.piece(id) for id in ids]
    # A token without bytes, such as one of type UNUSED, can still be produced by a text.
    bytes_of = [
        tokenizer.token_bytes(id) or piece.encode("utf-8", "surrogateescape") for id, piece in enumerate(pieces)
    ]
    texts = dict.fromkeys(_usable_texts(data.decode("utf-8", "surrogateescape") for data in bytes_of))
    if isinstance(tokenizer, Encoder):
        added = [token.text for token in tokenizer.settings.added_tokens]
    else:
        added = [tokenizer.piece(id) for id in sorted(set(tokenizer.special_ids.values()))]
    return Vocabulary(
        list(texts),
        [piece for piece in _usable_texts(pieces) if piece not in texts],
        list(_usable_texts(added)),
        list(filter(None, corpus)),
    )


def _usable_texts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces that consist of whole characters and are not extremely long."""
    return (piece for piece in pieces if piece and len(piece) <= _MAX_LENGTH and not _SURROGATE.search(piece))
