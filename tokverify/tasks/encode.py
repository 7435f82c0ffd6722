"""Encode a text, and decode ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tokverify.tasks.opening import open_model
from tokverify.tokenizer import tokens_of

if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder
    from tokverify.tasks.opening import ModelSource
    from tokverify.tokenizer import Token


class Encoding(NamedTuple):
    """The tokens of a text."""

    tokens: list[Token]
    """The tokens, in order."""

    warnings: list[str]
    """What llama.cpp would warn about, such as a duplicate BOS."""


class Decoding(NamedTuple):
    """The text of token ids."""

    pieces: list[str]
    """The piece of each id."""

    text: bytes
    """The text, which need not be valid UTF-8."""


def encode_text(model: ModelSource, text: str, *, add_special: bool = False, parse_special: bool = True) -> Encoding:
    """Encode a text as llama.cpp does.

    Args:
        model: The model: a path, or the result of `open_model`.
        text: The text.
        add_special: Add BOS and EOS as the model declares.
        parse_special: Recognize control tokens in the text.

    Returns:
        The tokens, and what llama.cpp would warn about.

    Raises:
        TokverifyError: If the model cannot be read, or the text cannot be encoded.
    """
    encoder = open_model(model).encoder
    ids = encoder.encode(text, add_special=add_special, parse_special=parse_special)
    warnings = list(encoder.warnings(ids)) if add_special else []
    return Encoding(tokens_of(encoder, ids), warnings)


def decode_ids(model: ModelSource, ids: Sequence[int], *, stop_at_eos: bool = False) -> Decoding:
    """Decode ids as llama.cpp does.

    Args:
        model: The model: a path, or the result of `open_model`.
        ids: The ids.
        stop_at_eos: Stop before the first token that ends a generation: EOS, EOT and the like.

    Returns:
        The text, and the piece of each id that was decoded.

    Raises:
        TokverifyError: If the model cannot be read, or an id is not in its vocabulary.
    """
    encoder = open_model(model).encoder
    if stop_at_eos:
        ids = ids[: find_end(encoder, ids)]
    text = encoder.decode(ids)
    return Decoding(list(map(encoder.piece, ids)), text)


def find_end(encoder: Encoder, ids: Sequence[int]) -> int | None:
    """Return the index of the first token that ends a generation; None if there is none."""
    ends = encoder.settings.eog_ids
    return next((index for index, id in enumerate(ids) if id in ends), None)
