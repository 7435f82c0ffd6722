"""Find out that a reference no longer decodes what it encodes, as if its decoder was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import ne

from tokverify.compare.damage.difference import CODE
from tokverify.compare.opened import Opened
from tokverify.report.tokenizer_difference import BLAME, Origin, TokenizerDifference
from tokverify.sources.huggingface.stage import stages_of
from tokverify.text.wording import quote
from tokverify.texts.batch import decode_all, encode_plain
from tokverify.tokenizer import Tokenizer

_TEXTS = ("Hello world", "The cat sat on the mat", "one two three", "a b c d")
"""Texts that every decoder restores."""
_SPACED = (" Hello world", " one two three")
"""Texts that a decoder restores if it removes only the space that its encoder adds."""

_WORD_LENGTH = 60
"""More than a piece has, so that a decoder joins several."""


def find_broken_decoder(actual: Tokenizer, facts: Opened) -> str:
    """Say that the reference does not decode plain texts to themselves, although the model does; empty if it does."""
    samples = (lambda: _TEXTS, lambda: _SPACED, partial(_texts_of_letters, facts))
    for texts in (sample() for sample in samples):
        if shown := _decode_wrongly(texts, actual, facts):
            return (
                f"{BLAME}: {_explain_decoder(facts)}, and so it decodes {quote(texts[0], mark_spaces=True)} as"
                f" {quote(shown, mark_spaces=True)}, unlike the model"
            )
    return ""


def _texts_of_letters(facts: Opened) -> tuple[str, ...]:
    """Return words of the letters that a vocabulary has, as one of RNA does not spell the other texts."""
    letters = "".join(
        sorted({piece for piece in facts.pieces if len(piece) == 1 and piece.isascii() and piece.isalpha()})
    )
    words = (order * _WORD_LENGTH for order in (letters, letters[::-1]))
    return tuple(word[:_WORD_LENGTH] for word in words if word)


def blame_decoder(difference: TokenizerDifference, actual: Tokenizer, facts: Opened) -> TokenizerDifference:
    """Return a difference in decoding, with the reference as its origin if its decoder is broken."""
    reason = find_broken_decoder(actual, facts)
    if not reason:
        return difference
    return replace(difference, message=f"{difference.message}: {reason}", origin=Origin.REFERENCE, code=CODE)


def _decode_wrongly(texts: Sequence[str], actual: Tokenizer, facts: Opened) -> str:
    """Return what the reference decodes the first text to if it restores none and the model all; empty otherwise."""
    expected = facts.tokenizer
    encoded = encode_plain(expected, texts) if expected and texts else [None]
    if expected is None or None in encoded or not _keeps_first_spaces(expected, texts, encoded):
        return ""
    all_ids = [ids for ids in encoded if ids is not None]
    ours, theirs = decode_all(actual, expected, all_ids), decode_all(expected, actual, all_ids)
    plain = [text.encode() for text in texts]
    # If the reference also adds a space before each text, its decoder may keep it.
    spaced = [b" " + text for text in plain]
    restored = plain if list(ours) == plain else [*plain, *spaced]
    if list(ours) not in (plain, spaced) or any(text in restored or not isinstance(text, bytes) for text in theirs):
        return ""
    return next(text.decode("utf-8", "replace") for text in theirs if isinstance(text, bytes))


def _keeps_first_spaces(tokenizer: Tokenizer, texts: Sequence[str], encoded: Sequence[object]) -> bool:
    """Whether the ids of texts show the space that they begin with, if any, which those of WordPiece do not."""
    bare = [text.lstrip() for text in texts]
    return bare == list(texts) or all(map(ne, encode_plain(tokenizer, bare), encoded))


def _explain_decoder(facts: Opened) -> str:
    if facts.document is None:
        return "its decoder does not undo what its encoder does"
    stages = stages_of(facts.document.library.decoder)
    if not stages:
        return "its tokenizer.json has no decoder"
    names = ", ".join(str(stage.get("type")) for stage in stages)
    before = [str(stage["type"]) for stage in (*facts.document.normalizer, *facts.document.pre_tokenizer)]
    return f"the decoder of its tokenizer.json ({names}) does not undo what is done to a text ({', '.join(before)})"
