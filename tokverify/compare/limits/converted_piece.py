"""TL024: llama.cpp's converter types user-defined pieces so that texts are split at them."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.compare.limits.limit import Counterfactual, limit
from tokverify.compare.limits.sides import Sides
from tokverify.compare.limits.user_defined_piece import split_at_pieces
from tokverify.report.finding import WARNING
from tokverify.report.tokenizer_difference import Origin


@limit(code="TL024", name="converted-piece", origin=Origin.CONVENTION, severity=WARNING)
def converted_piece(sides: Sides) -> Iterator[Counterfactual]:
    """llama.cpp's converter types user-defined pieces so that texts are split at them, although it need not.

    What llama.cpp does:
        Its converter copies the types of the pieces. llama.cpp then splits a text at those that are user-defined before
        it normalizes each part and adds a space before it, and leaves alone what only begins like such a piece.
        sentencepiece finds them in the normalized text.

    Which models:
        Unigram models with user-defined pieces that are ordinary characters or words: XLNet (`.`, `(`, `-`), some T5
        models. Models of merges in which single characters are user-defined, such as the digits of TeleChat.

    How to live with it:
        Convert the .model with `tokverify convert`, which types these pieces NORMAL and, for a unigram model, gives
        them the scores by which sentencepiece prefers them.

    What it does not explain:
        A piece that cannot be NORMAL, because normalization changes it, or merges would not make it (TL013).
    """
    yield from split_at_pieces(sides, plain=True)
