"""Trace the Viterbi algorithm of `tokverify.engine.models.unigram`: every piece that it considers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tokverify.engine.family import NO_TOKEN
from tokverify.engine.trace import RIVALS, STEPS, Taken, Word
from tokverify.report.explain import Candidate, Lattice, LatticeEntry, LatticeRow, LatticeStep, LatticeTrial

LOWEST = -sys.float_info.max
"""Less than every sum, except that neither NaN nor minus infinity is greater."""


@dataclass(slots=True)
class _Place:
    """The state at one position of the text: the best sum, and all pieces that end there."""

    total: float = LOWEST
    best: int | None = None
    origin: int = 0
    candidates: list[Candidate] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LatticeTracer:
    """Segments symbols; `tokens`, `unknown` and `sizes` are the model's, and `data` is the whole normalized text."""

    tokens: Mapping[str, tuple[int, float]]
    unknown: tuple[int, float]
    sizes: Mapping[str, Sequence[int]]
    data: bytes

    def trace(self, symbols: str, offsets: Sequence[int], total: float) -> tuple[Word, float]:
        """Find the best segmentation with sums that begin with `total`; return it as a word, with its sum.

        `offsets` are the start of each symbol and the end of the last one, in bytes of `data`.
        """
        places = [_Place() for _ in offsets]
        places[0].total = total
        steps: list[LatticeStep] = []
        for start in range(len(symbols)):
            reached: list[int] = []
            for size in self.sizes.get(symbols[start : start + 2], (1,)):
                end = start + size
                if end > len(symbols):
                    break
                token = self.tokens.get(symbols[start:end]) or (self.unknown if size == 1 else None)
                if token is not None:
                    self._add_candidate(places, start, end, token, offsets)
                    reached.append(end)
            if len(symbols) <= STEPS:
                candidates = [places[end].candidates[-1] for end in reached]
                steps.append(_step(offsets[start], candidates, tuple(_entries(places, offsets))))
        return self._word(places, offsets, tuple(steps)), places[-1].total

    def _add_candidate(
        self, places: Sequence[_Place], start: int, end: int, token: tuple[int, float], offsets: Sequence[int]
    ) -> None:
        place = places[end]
        total = places[start].total + token[1]
        if total > place.total:
            place.total, place.best, place.origin = total, len(place.candidates), start
        id, score = token
        span = offsets[start], offsets[end]
        piece = self.data[slice(*span)].decode("utf-8", "surrogateescape")
        is_unknown = id == self.unknown[0] != NO_TOKEN
        place.candidates.append(Candidate(span, id, piece, score, total, is_unknown))

    def _word(self, places: Sequence[_Place], offsets: Sequence[int], steps: tuple[LatticeStep, ...]) -> Word:
        path, end = [len(places) - 1], len(places) - 1
        while places[end].origin:
            end = places[end].origin
            path.append(end)
        on_path = set(path)
        rows = tuple(
            _row(place, on_path=index in on_path) for index, place in enumerate(places) if place.best is not None
        )
        tokens = (self._taken(places[end], offsets, end) for end in reversed(path))
        initial = LatticeEntry(end=0, id=self.unknown[0], start=0, total=LOWEST)
        return Word(offsets[0], offsets[-1], tuple(tokens), Lattice("score", rows, initial, steps))

    def _taken(self, place: _Place, offsets: Sequence[int], end: int) -> Taken:
        id = self.unknown[0] if place.best is None else place.candidates[place.best].id
        return Taken(id, offsets[place.origin], offsets[end])


def _step(start: int, candidates: Sequence[Candidate], entries: tuple[LatticeEntry, ...]) -> LatticeStep:
    chosen = {(entry.start, entry.end) for entry in entries}
    trials = (
        LatticeTrial(each.id, each.piece, each.span[1], each.weight, each.total, each.span in chosen)
        for each in candidates
    )
    return LatticeStep(start, tuple(trials), entries)


def _entries(places: Sequence[_Place], offsets: Sequence[int]) -> Iterator[LatticeEntry]:
    """Yield what is known after a step, without the beginning of the word and the places that are not reached."""
    for place, end in zip(places, offsets, strict=True):
        if place.best is not None:
            yield LatticeEntry(end, place.candidates[place.best].id, offsets[place.origin], place.total)


def _row(place: _Place, *, on_path: bool) -> LatticeRow:
    best = place.candidates[place.best or 0]
    others = [candidate for candidate in place.candidates if candidate is not best]
    rivals = sorted(others, key=lambda candidate: -candidate.total)
    return LatticeRow(best, tuple(rivals[:RIVALS]), max(0, len(rivals) - RIVALS), on_path)
