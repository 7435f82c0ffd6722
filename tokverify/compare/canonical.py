"""Check whether ids are canonical: equal to the encoding of the text that they represent.

A text is what stands between two control tokens. Each is decoded and encoded alone, since decoding cannot tell whether
a space after a control token is part of the text or was added by the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.canonical import Deviation
from tokverify.spec import MATCHED_TYPES, SPECIAL_TYPES
from tokverify.text.sequence import common_length
from tokverify.text.utf8 import from_utf8
from tokverify.texts.mode import Mode, Modes
from tokverify.tokenizer import Token, Tokenizer, join_bytes, tokens_for_display

_CONTEXT = 8
_MODE = Mode(add_special=False, parse_special=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDeviation:
    """The first deviation of a sequence."""

    cause: Deviation
    index: int
    """The place in the sequence where it begins, in tokens."""
    tokens: int
    """How many tokens of the whole sequence deviate."""
    logged: tuple[Token, ...]
    """The tokens of the sequence around that place."""
    canonical: tuple[Token, ...]
    """The tokens of the encoding around that place."""
    message: str = ""
    """Why the text cannot be encoded."""


class CanonicalCheck:
    """Compares sequences of ids with the encodings of their own texts.

    Args:
        encoder: The tokenizer that knows which text ids represent.
        reference: The tokenizer that encodes the texts; by default, the same one.
    """

    def __init__(self, encoder: Encoder, reference: Tokenizer | None = None) -> None:
        self._encoder = encoder
        self._reference: Tokenizer = reference or encoder
        self._modes = Modes(self._reference)
        types = encoder.token_types()
        self._special = frozenset(id for id, type in enumerate(types) if type in SPECIAL_TYPES)
        self._matched = frozenset(id for id, type in enumerate(types) if type in MATCHED_TYPES)

    def find(self, ids: Sequence[int], boundaries: Sequence[int] = ()) -> FoundDeviation | None:
        """Return the first deviation of a sequence; None if it is canonical.

        Args:
            ids: The sequence.
            boundaries: The places where its parts meet, as numbers of ids before them.
        """
        unknown = next((at for at, id in enumerate(ids) if not 0 <= id < self._encoder.vocab_size), None)
        if unknown is not None:
            logged = tokens_for_display(self._encoder, ids[max(0, unknown - _CONTEXT) : unknown + 1])
            return FoundDeviation(
                cause=Deviation.UNKNOWN_ID, index=unknown, tokens=1, logged=tuple(logged), canonical=()
            )
        first, tokens = None, 0
        for start, end in self._texts(ids):
            inner = [at - start for at in boundaries if start < at < end]
            found = self._check_text(ids[start:end], start, inner)
            tokens += found.tokens if found else 0
            first = first or found
        return replace(first, tokens=tokens) if first else None

    def _texts(self, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each stretch without control tokens."""
        ends = [*(at for at, id in enumerate(ids) if id in self._special), len(ids)]
        starts = [0, *(at + 1 for at in ends)]
        yield from ((start, end) for start, end in zip(starts, ends, strict=False) if start < end)

    def _check_text(self, ids: Sequence[int], offset: int, boundaries: Sequence[int]) -> FoundDeviation | None:
        """Check one text, whose first id is the one at `offset` of the sequence."""
        try:
            canonical = self._encode(self._encoder.decode(ids))
        except (EncodeError, UnsupportedError) as error:
            return self._describe_failure(ids, offset, str(error))
        if list(ids) == canonical:
            return None
        logged, encoded = (tokens_for_display(self._encoder, each) for each in (ids, canonical))
        at = common_length(ids, canonical)
        logged_end, encoded_end = _find_common_end(logged, encoded, at)
        before = max(0, at - _CONTEXT)
        after = min(_CONTEXT, common_length(ids[logged_end:], canonical[encoded_end:]))
        return FoundDeviation(
            cause=self._classify(logged, encoded, (at, logged_end, encoded_end), boundaries),
            index=offset + at,
            tokens=len(_places(logged) - _places(encoded)),
            logged=tuple(logged[before : logged_end + after]),
            canonical=tuple(encoded[before : encoded_end + after]),
        )

    def _encode(self, data: bytes) -> list[int]:
        """Encode a text; what is not UTF-8 has become U+FFFD wherever the text was kept."""
        text = data.decode(errors="replace")
        return self._reference.encode(text, **self._modes.choose(text, _MODE)._asdict())

    def _describe_failure(self, ids: Sequence[int], offset: int, message: str) -> FoundDeviation:
        logged = tuple(tokens_for_display(self._encoder, ids[: 2 * _CONTEXT]))
        return FoundDeviation(
            cause=Deviation.NOT_ENCODED, index=offset, tokens=len(ids), logged=logged, canonical=(), message=message
        )

    def _classify(
        self,
        logged: Sequence[Token],
        encoded: Sequence[Token],
        place: tuple[int, int, int],
        boundaries: Sequence[int],
    ) -> Deviation:
        at, logged_end, encoded_end = place
        text, other = join_bytes(logged), join_bytes(encoded)
        if from_utf8(text) is None:
            return Deviation.NOT_UTF8
        if any(token.id in self._matched for token in encoded[at:encoded_end]):
            return Deviation.SPECIAL_TEXT
        if other == b" " + text:
            return Deviation.SPACE_PREFIX
        if other != text:
            return Deviation.NORMALIZED
        if any(at < boundary < logged_end for boundary in boundaries):
            return Deviation.BOUNDARY
        return Deviation.SEGMENTATION


def _find_common_end(logged: Sequence[Token], encoded: Sequence[Token], at: int) -> tuple[int, int]:
    """Return where both have again represented equally many bytes since `at`, as indexes after the last token."""
    left, right = at, at
    difference = 0
    while left < len(logged) or right < len(encoded):
        if difference <= 0 and left < len(logged):
            difference += len(logged[left].token_bytes)
            left += 1
        elif right < len(encoded):
            difference -= len(encoded[right].token_bytes)
            right += 1
        else:
            return len(logged), len(encoded)
        if difference == 0 and right > at:
            break
    return left, right


def _places(tokens: Sequence[Token]) -> set[tuple[int, int, int]]:
    """Return each token with the bytes before it and how many tokens with as many bytes there are."""
    ends = list(accumulate(len(token.token_bytes) for token in tokens))
    return {(end, len(token.token_bytes), token.id) for end, token in zip(ends, tokens, strict=True)}
