"""Define a text to try, and the vocabulary that generators build texts from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from tokverify.engine.normalizer import unescape_spaces
from tokverify.text.utf8 import from_utf8, has_surrogate, to_bytes, to_text
from tokverify.texts import alphabet
from tokverify.texts.mode import Mode
from tokverify.texts.vocabulary import bytes_of_tokens, compare_vocabularies
from tokverify.tokenizer import AddedTokenListing, ControlListing, MatchListing, Tokenizer, pieces_of

_MAX_LENGTH = 500
"""In characters. Only hostile vocabularies have longer pieces; they are ignored."""
_MAX_UNIT = 2


class Sample(NamedTuple):
    """A text to encode, with the options to encode it with."""

    text: str
    add_special: bool
    parse_special: bool

    @property
    def mode(self) -> Mode:
        """The options."""
        return Mode(self.add_special, self.parse_special)


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
    one_sided: Sequence[str] = ()
    """The texts of added tokens that only one of two tokenizers has, or treats as control tokens, and of pieces that
    only one has."""

    @cached_property
    def units(self) -> Sequence[str]:
        """Texts of one or two characters."""
        return [text for text in self.texts if len(text) <= _MAX_UNIT] or ["a"]

    @cached_property
    def words(self) -> Sequence[str]:
        """The words among the texts, and words of many languages."""
        return [text for text in map(str.strip, self.texts) if text.isalpha()] + list(alphabet.WORDS) * 20


def vocabulary_of(tokenizer: Tokenizer, corpus: Sequence[str] = ()) -> Vocabulary:
    """Collect a tokenizer's vocabulary; of its added tokens, those it lists, or else those with a role."""
    pieces = list(pieces_of(tokenizer))
    # A token without bytes, such as one of type UNUSED, can still be produced by a text.
    bytes_of = [data or to_bytes(piece) for data, piece in zip(bytes_of_tokens(tokenizer), pieces, strict=True)]
    decoded = map(from_utf8, bytes_of)
    texts = dict.fromkeys(text for text in decoded if text and len(text) <= _MAX_LENGTH)
    return Vocabulary(
        list(texts),
        list(_usable_texts(piece for piece in pieces if piece not in texts)),
        list(_usable_texts(_added_texts(tokenizer))),
        list(filter(None, corpus)),
    )


def common_vocabulary(actual: Tokenizer, expected: Tokenizer, corpus: Sequence[str] = ()) -> Vocabulary:
    """Collect the vocabularies of both sides; what only one of them has is also listed separately."""
    vocabulary = vocabulary_of(actual, corpus)
    added = list(_usable_texts(_added_texts(expected)))
    pieces = list(_usable_texts(_differing_texts(actual, expected)))
    known = {*vocabulary.texts}
    disputed = _disputed_texts(actual, expected)
    all_added = list(dict.fromkeys([*vocabulary.added, *added]))
    return replace(
        vocabulary,
        texts=[*vocabulary.texts, *(text for text in dict.fromkeys(pieces) if text not in known)],
        added=all_added,
        one_sided=list(dict.fromkeys([*(text for text in all_added if text in disputed), *pieces])),
    )


def _added_texts(tokenizer: Tokenizer) -> Collection[str]:
    listed = _listed_added_texts(tokenizer)
    return [tokenizer.piece(id) for id in sorted(set(tokenizer.special_ids.values()))] if listed is None else listed


def _listed_added_texts(tokenizer: Tokenizer) -> Collection[str] | None:
    if isinstance(tokenizer, AddedTokenListing):
        return tokenizer.added_texts
    return [token.text for token in tokenizer.added_tokens().values()] if isinstance(tokenizer, MatchListing) else None


def _listed_control_texts(tokenizer: Tokenizer) -> Collection[str] | None:
    if isinstance(tokenizer, ControlListing):
        return tokenizer.control_texts
    if isinstance(tokenizer, MatchListing):
        return [token.text for token in tokenizer.added_tokens().values() if token.special]
    return None


def _disputed_texts(actual: Tokenizer, expected: Tokenizer) -> set[str]:
    """Return the texts that only one side matches, or treats as control tokens, as far as both list theirs."""
    disputed: set[str] = set()
    for listed in (_listed_added_texts, _listed_control_texts):
        ours, theirs = listed(actual), listed(expected)
        if ours is not None and theirs is not None:
            # Libraries list spaces as `▁` or as such.
            one_only = set(map(unescape_spaces, ours)) ^ set(map(unescape_spaces, theirs))
            disputed.update(text for text in (*ours, *theirs) if unescape_spaces(text) in one_only)
    return disputed


def _differing_texts(actual: Tokenizer, expected: Tokenizer) -> Iterator[str]:
    """Yield the texts of the pieces that differ between the two vocabularies, of both sides."""
    compared = compare_vocabularies(actual, expected)
    for difference in compared.pieces if compared else ():
        for tokenizer, piece in ((actual, difference.actual), (expected, difference.expected)):
            if piece is not None:
                yield to_text(tokenizer.token_bytes(difference.id))


def _usable_texts(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the pieces that consist of whole characters and are not extremely long."""
    return (piece for piece in pieces if piece and len(piece) <= _MAX_LENGTH and not has_surrogate(piece))
