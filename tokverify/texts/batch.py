"""Ask a tokenizer for the results of many texts, in as few calls as it allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

from tokverify.errors import EncodeError, UnsupportedError
from tokverify.texts.mode import Mode
from tokverify.tokenizer import BatchDecoding, BatchEncoding, Tokenizer, adapted_decoding_of

_PLAIN = Mode(add_special=False, parse_special=False)

_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")
FAILURES = (EncodeError, UnsupportedError)
"""What a tokenizer may raise for one text."""
Failure = EncodeError | UnsupportedError
Encoded = list[int] | Failure
"""The ids of a text, or why it cannot be encoded."""
Decoded = bytes | Failure
"""The text of some ids, or why they cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a tokenizer has answered when it was compared with tokenizers of one kind."""

    ids: dict[tuple[str, Mode], Encoded] = field(default_factory=dict)
    texts: dict[tuple[int, ...], Decoded] = field(default_factory=dict)


def encode_all(tokenizer: Tokenizer, texts: Sequence[str], modes: Sequence[Mode]) -> list[Encoded]:
    """Encode each text in its mode, all texts with the same mode in one call if the tokenizer encodes batches."""
    if not isinstance(tokenizer, BatchEncoding):
        pairs = zip(texts, modes, strict=True)
        return [answer(tokenizer.encode, text, **mode._asdict()) for text, mode in pairs]
    results: list[Encoded] = [[]] * len(texts)
    for mode in dict.fromkeys(modes):
        places = [at for at, other in enumerate(modes) if other == mode]
        encoded = answer(tokenizer.encode_many, [texts[at] for at in places], **mode._asdict())
        for at, ids in zip(places, _for_each(encoded, len(places)), strict=True):
            results[at] = ids
    return results


def encode_one(
    tokenizer: Tokenizer, text: str, *, add_special: bool = False, parse_special: bool = False
) -> list[int] | None:
    """Encode one text; None if it cannot be encoded."""
    ids = answer(tokenizer.encode, text, add_special=add_special, parse_special=parse_special)
    return None if isinstance(ids, FAILURES) else ids


def encode_plain(tokenizer: Tokenizer, texts: Sequence[str]) -> list[tuple[int, ...] | None]:
    """Encode texts without special tokens around them or in them; None for one that cannot be encoded."""
    return list(map(ids_or_none, encode_all(tokenizer, texts, [_PLAIN] * len(texts))))


def ids_or_none(encoded: Encoded) -> tuple[int, ...] | None:
    """Return the ids of a text; None if it cannot be encoded, for whatever reason."""
    return None if isinstance(encoded, FAILURES) else tuple(encoded)


def decode_all(tokenizer: Tokenizer, other: Tokenizer, all_ids: Sequence[Sequence[int]]) -> list[Decoded]:
    """Decode lists of ids for a comparison with `other`, in one call if the tokenizer decodes batches."""
    adapted = adapted_decoding_of(tokenizer, other)
    if adapted is None and isinstance(tokenizer, BatchDecoding):
        return [*_for_each(answer(tokenizer.decode_many, all_ids), len(all_ids))]
    return [answer(adapted or tokenizer.decode, ids) for ids in all_ids]


def answer(
    function: Callable[_Parameters, _Answer], *args: _Parameters.args, **options: _Parameters.kwargs
) -> _Answer | Failure:
    """Return the result of a call, or why a tokenizer refuses it."""
    try:
        return function(*args, **options)
    except FAILURES as failure:
        return failure


def _for_each(answer: Sequence[_Answer] | Failure, count: int) -> Sequence[_Answer | Failure]:
    """Return the results of a call for several inputs; if it failed as a whole, that is the failure of each."""
    return [answer] * count if isinstance(answer, FAILURES) else answer


class Answers:
    """What one side of a comparison answers about texts for which it is asked together beforehand."""

    def __init__(self, tokenizer: Tokenizer, other: Tokenizer, side: str, known: Known | None = None) -> None:
        """Compare `tokenizer`, called `side` in messages, with `other`; answers in `known` are used, and others added.

        Without `known`, only the latest decoded texts are kept.
        """
        self._tokenizer = tokenizer
        self._other = other
        self._side = side
        self._forgets = known is None
        self._known = known or Known()

    def encode_all(self, texts: Sequence[str], modes: Sequence[Mode]) -> list[Encoded]:
        """Encode each text in its mode."""
        keys = list(zip(texts, modes, strict=True))
        known = self._known.ids
        new = [key for key in dict.fromkeys(keys) if key not in known]
        encoded = encode_all(self._tokenizer, [text for text, _ in new], [mode for _, mode in new])
        known.update(zip(new, encoded, strict=True))
        return [known[key] for key in keys]

    def add(self, text: str, mode: Mode, encode: Callable[[], list[int]]) -> Encoded:
        """Encode a text in another way than the tokenizer would in this mode."""
        self._known.ids[text, mode] = encoded = answer(encode)
        return encoded

    def decode_all(self, all_ids: Iterable[Sequence[int]]) -> None:
        """Decode lists of ids."""
        known = self._known.texts
        if self._forgets:
            known.clear()
        new = [ids for ids in dict.fromkeys(map(tuple, all_ids)) if ids not in known]
        known.update(zip(new, decode_all(self._tokenizer, self._other, new), strict=True))

    def ids(self, text: str, mode: Mode) -> tuple[int, ...]:
        """Return the ids of a text that has been encoded.

        Raises:
            EncodeError, UnsupportedError: If the tokenizer could not encode it; the message names the side.
        """
        encoded = self._known.ids[text, mode]
        if isinstance(encoded, FAILURES):
            raise name_side(self._side, encoded)
        return tuple(encoded)

    def text(self, ids: tuple[int, ...]) -> bytes:
        """Return the text of ids that have been decoded.

        Raises:
            EncodeError, UnsupportedError: If the tokenizer could not decode them; the message names the side.
        """
        decoded = self._known.texts[ids]
        if isinstance(decoded, FAILURES):
            raise name_side(self._side, decoded)
        return decoded


def name_side(side: str, failure: Failure) -> Failure:
    """Return a failure whose message begins with the side."""
    return type(failure)(f"{side}: {failure}")


def combine(failures: Sequence[Failure]) -> Failure:
    """Combine the failures of one or both sides; the text is skipped if the result is an UnsupportedError."""
    if len(failures) == 1:
        return failures[0]
    return UnsupportedError(f"neither side can encode this text: {'; '.join(map(str, failures))}")


class Queries:
    """Encodes texts with a tokenizer, and counts the encodings."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.count = 0
        """The number of texts that have been encoded."""

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> list[int] | None:
        """Encode one text; None if it cannot be encoded."""
        self.count += 1
        return encode_one(self.tokenizer, text, add_special=add_special, parse_special=parse_special)

    def encode_all(self, texts: Sequence[str], *, parse_special: bool = False) -> list[list[int] | None]:
        """Encode texts without adding special tokens; None for a text that cannot be encoded."""
        tokenizer = self.tokenizer
        if not isinstance(tokenizer, BatchEncoding):
            return [self.encode(text, parse_special=parse_special) for text in texts]
        self.count += len(texts)
        results = tokenizer.encode_many(texts, add_special=False, parse_special=parse_special)
        return [ids if isinstance(ids, list) else None for ids in results]
