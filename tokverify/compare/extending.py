"""Measure how far back an extension of a text changes its tokens, and check sessions that encode only what is new.

An editor or a server that keeps the ids of a growing text must encode its end again: the tokens of `hel` are not the
first ones of `hello`. The measure is taken without tokens around the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol, runtime_checkable

from tokverify.case import Case
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.stream import Reach, StreamFailure, StreamFault
from tokverify.text.sequence import common_length
from tokverify.texts.batch import FAILURES, encode_all
from tokverify.texts.mode import Mode, Modes, mode_of
from tokverify.tokenizer import BatchEncoding, Tokenizer

MAX_PIECES = 128
"""How many times a text is extended, by one character each time if it has no more."""
MAX_REQUESTS = 16
"""The same for a tokenizer that is asked about one text at a time, such as a server."""
MAX_CHARACTERS = 8192
"""What follows these characters of a longer text does not extend it."""

_CUT = f"extended only up to the character {MAX_CHARACTERS:,}, because it has more"
_SHOWN = 20
_BEFORE = 3


@runtime_checkable
class Extending(Protocol):
    """Keeps a text, and encodes only what changes when it is extended."""

    def extend(self, pieces: Sequence[str], *, parse_special: bool) -> list[list[int]]:
        """Return the ids of a text after each of its pieces has been appended, without tokens around it.

        Raises:
            EncodeError: If it cannot be encoded.
        """


@dataclass
class Extensions:
    """Extends texts piece by piece, and counts what was done."""

    tokenizer: Tokenizer
    extensions: int = 0
    most_characters: Reach | None = None
    most_tokens: Reach | None = None
    skipped: Counter[str] = field(default_factory=Counter)

    def failures(self, cases: Iterable[Case]) -> Iterator[StreamFailure]:
        """Measure each text; yield where the ids of a session are not those of its text."""
        modes = Modes(self.tokenizer)
        most = MAX_PIECES if isinstance(self.tokenizer, BatchEncoding) else MAX_REQUESTS
        for case in cases:
            text = case.text[:MAX_CHARACTERS]
            self.skipped[_CUT] += len(text) < len(case.text)
            pieces = split(text, most)
            mode = modes.choose(text, mode_of(case))._replace(add_special=False)
            encoded = self._encode(pieces, mode)
            if encoded is None:
                continue
            self.extensions += len(pieces)
            for at, kept, by in changes(encoded):
                self._measure(case.name, pieces[: by + 1], encoded[: at + 1], kept, mode)
            if isinstance(self.tokenizer, Extending):
                yield from self._check(case.name, pieces, encoded, mode, self.tokenizer)
        self.skipped = +self.skipped

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """What changed the most characters, and what changed the most tokens if that is more; nothing if none did."""
        if self.most_characters is None or self.most_tokens is None:
            return ()
        if self.most_characters.tokens == self.most_tokens.tokens:
            return (self.most_characters,)
        return self.most_characters, self.most_tokens

    def _measure(
        self, name: str, pieces: Sequence[str], encoded: Sequence[Sequence[int]], kept: int, mode: Mode
    ) -> None:
        """Note how far back the tokens of a text change, if nothing has changed more.

        `kept` of the tokens of the text stay; its `pieces` include those of its extension.
        """
        text, added = "".join(pieces[: len(encoded)]), "".join(pieces[len(encoded) :])
        ids = list(encoded[-1][:kept])
        own = (at for at in range(len(encoded), 0, -1) if ids[: len(encoded[at - 1])] == list(encoded[at - 1]))
        fixed = sum(map(len, pieces[: next(own, 0)]))
        tokens = len(encoded[-1]) - kept
        has_most_tokens = self.most_tokens is None or tokens > self.most_tokens.tokens
        if not has_most_tokens and self.most_characters and len(text) - fixed <= self.most_characters.characters:
            return
        # Pieces of several characters end within tokens; where do tokens end that stay as they are?
        for at in range(len(text) - 1, max(fixed, len(text) - MAX_PIECES), -1):
            (found,) = encode_all(self.tokenizer, [text[:at]], [mode])
            if not isinstance(found, FAILURES) and ids[: len(found)] == found:
                fixed = at
                break
        reach = Reach(name, text[fixed:], added, len(text) - fixed, tokens)
        if has_most_tokens:
            self.most_tokens = reach
        if self.most_characters is None or reach.characters > self.most_characters.characters:
            self.most_characters = reach

    def _encode(self, pieces: Sequence[str], mode: Mode) -> list[list[int]] | None:
        """Return the ids after each piece; None if not all of them can be encoded, and why if the whole text can."""
        texts = list(accumulate(pieces))
        encoded = encode_all(self.tokenizer, texts, [mode] * len(texts))
        failures = [ids for ids in encoded if isinstance(ids, FAILURES)]
        if failures and encoded[-1] is not failures[-1]:
            self.skipped[f"not extended: {failures[0]}"] += 1
        return None if failures else [ids for ids in encoded if not isinstance(ids, FAILURES)]

    def _check(
        self, name: str, pieces: Sequence[str], encoded: list[list[int]], mode: Mode, session: Extending
    ) -> Iterator[StreamFailure]:
        try:
            extended = session.extend(pieces, parse_special=mode.parse_special)
        except UnsupportedError as error:
            self.skipped[f"no session: {error}"] += 1
            return
        except EncodeError as error:
            ids = tuple(encoded[-1]) if encoded else ()
            yield StreamFailure(name, StreamFault.ERROR, None, ids, "".join(pieces), str(error))
            return
        at = common_length(encoded, extended)
        if at < len(encoded):
            right, wrong = encoded[at], extended[at]
            same = common_length(right, wrong)
            yield StreamFailure(
                name,
                StreamFault.EXTENDED,
                None,
                tuple(right),
                _show(right, same),
                _show(wrong, same),
                extended_to=sum(map(len, pieces[: at + 1])),
            )


def split(text: str, most: int) -> list[str]:
    """Split a text into at most that many pieces of equal length, of one character if that suffices."""
    size = max(-(-len(text) // most), 1)
    return [text[at : at + size] for at in range(0, len(text), size)]


def changes(encoded: Sequence[Sequence[int]]) -> Iterator[tuple[int, int, int]]:
    """Yield which tokens later pieces change, from the last piece to the first.

    Yields:
        The index of a piece, how many tokens of the text up to it stay, and the index of the piece that decides this.
    """
    kept, by = len(encoded[-1]) if encoded else 0, len(encoded)
    for at in range(len(encoded) - 2, -1, -1):
        # What a later extension changes was not safe before it, either.
        if (common := common_length(encoded[at], encoded[at + 1])) <= kept:
            kept, by = common, at + 1
        if kept < len(encoded[at]):
            yield at, kept, by


def _show(ids: Sequence[int], start: int) -> str:
    """Show some ids from shortly before a place on."""
    first = max(start - _BEFORE, 0)
    shown = ["..."] * (first > 0) + [*map(str, ids[first : start + _SHOWN])]
    return " ".join([*shown, *["..."] * (start + _SHOWN < len(ids))])
