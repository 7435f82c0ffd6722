"""Ask a tokenizer for the results of many texts, in as few calls as it allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tokverify.tokenizer import BatchDecoding, BatchEncoding, Tokenizer, decoding_of
from tokverify.verify.failure import FAILURES, Failure, name_side
from tokverify.verify.mode import Mode

Encoded = list[int] | Failure
"""The ids of a text, or why it cannot be encoded."""

Decoded = bytes | Failure
"""The text of some ids, or why they cannot be decoded."""

KnownIds = dict[tuple[str, Mode], Encoded]
"""What a tokenizer answered, by text and options."""


def encode_all(tokenizer: Tokenizer, texts: Sequence[str], modes: Sequence[Mode]) -> list[Encoded]:
    """Encode each text in its mode, all texts with the same mode in one call if the tokenizer encodes batches."""
    if not isinstance(tokenizer, BatchEncoding):
        return [_encode(tokenizer, text, mode) for text, mode in zip(texts, modes, strict=True)]
    results: list[Encoded] = [[]] * len(texts)
    for mode in dict.fromkeys(modes):
        places = [at for at, other in enumerate(modes) if other == mode]
        encoded = _encode_together(tokenizer, [texts[at] for at in places], mode)
        for at, ids in zip(places, encoded, strict=True):
            results[at] = ids
    return results


def _encode_together(tokenizer: BatchEncoding, texts: Sequence[str], mode: Mode) -> Sequence[Encoded]:
    """Encode texts in one call; if it fails as a whole, that is the failure of each text."""
    try:
        return tokenizer.encode_many(texts, **mode._asdict())
    except FAILURES as failure:
        return [failure] * len(texts)


def _encode(tokenizer: Tokenizer, text: str, mode: Mode) -> Encoded:
    try:
        return tokenizer.encode(text, **mode._asdict())
    except FAILURES as failure:
        return failure


def ids_or_none(encoded: Encoded) -> tuple[int, ...] | None:
    """Return the ids of a text; None if it cannot be encoded, for whatever reason."""
    return None if isinstance(encoded, FAILURES) else tuple(encoded)


def decode_all(tokenizer: Tokenizer, other: Tokenizer, all_ids: Sequence[Sequence[int]]) -> list[Decoded]:
    """Decode lists of ids for a comparison with `other`, in one call if the tokenizer decodes batches."""
    decode = decoding_of(tokenizer, other)
    if isinstance(tokenizer, BatchDecoding) and decode == tokenizer.decode:
        try:
            return [*tokenizer.decode_many(all_ids)]
        except FAILURES as failure:
            return [failure] * len(all_ids)
    return [_decode(decode, ids) for ids in all_ids]


def _decode(decode: Callable[[Sequence[int]], bytes], ids: Sequence[int]) -> Decoded:
    try:
        return decode(ids)
    except FAILURES as failure:
        return failure


class Answers:
    """What one side of a comparison answers about texts for which it is asked together beforehand."""

    def __init__(self, tokenizer: Tokenizer, other: Tokenizer, side: str, known: KnownIds | None = None) -> None:
        """Compare `tokenizer`, called `side` in messages, with `other`; look up ids in `known`, and add them there."""
        self._tokenizer = tokenizer
        self._other = other
        self._side = side
        self._encoded: KnownIds = {} if known is None else known
        self._decoded: dict[tuple[int, ...], Decoded] = {}

    def encode_all(self, texts: Sequence[str], modes: Sequence[Mode]) -> list[Encoded]:
        """Encode each text in its mode."""
        keys = list(zip(texts, modes, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._encoded]
        encoded = encode_all(self._tokenizer, [text for text, _ in new], [mode for _, mode in new])
        self._encoded.update(zip(new, encoded, strict=True))
        return [self._encoded[key] for key in keys]

    def decode_all(self, all_ids: Iterable[Sequence[int]]) -> None:
        """Decode lists of ids, and forget earlier ones."""
        distinct = list(dict.fromkeys(map(tuple, all_ids)))
        self._decoded = dict(zip(distinct, decode_all(self._tokenizer, self._other, distinct), strict=True))

    def ids(self, text: str, mode: Mode) -> tuple[int, ...]:
        """Return the ids of a text that has been encoded.

        Raises:
            EncodeError, UnsupportedError: If the tokenizer could not encode it; the message names the side.
        """
        encoded = self._encoded[text, mode]
        if isinstance(encoded, FAILURES):
            raise name_side(self._side, encoded)
        return tuple(encoded)

    def text(self, ids: tuple[int, ...]) -> bytes:
        """Return the text of ids that have been decoded.

        Raises:
            EncodeError, UnsupportedError: If the tokenizer could not decode them; the message names the side.
        """
        decoded = self._decoded[ids]
        if isinstance(decoded, FAILURES):
            raise name_side(self._side, decoded)
        return decoded
