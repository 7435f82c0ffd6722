"""Search for the smallest change that makes failing cases match: each change alone, then on top of the best ones."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from tokverify.diagnosis.change import Change
from tokverify.diagnosis.counterfactual import COUNTERFACTUALS
from tokverify.diagnosis.evidence import Evidence, Target
from tokverify.diagnosis.result import Diagnosis, Explanation
from tokverify.errors import TokverifyError
from tokverify.report import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokverify.diagnosis.facts import Facts
    from tokverify.encoder import Encoder
    from tokverify.report import CaseResult
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

SECONDS = 10.0
_SAMPLE = 200
_DEPTH = 3
_BEAM = 3
_LISTED = 3


def diagnose(
    spec: TokenizerSpec,
    facts: Facts,
    results: Iterable[CaseResult],
    *,
    encoder: Encoder | None = None,
    seconds: float = SECONDS,
) -> Diagnosis | None:
    """Explain the failing ones among `results`; None if none fails that a change of our side could repair.

    Args:
        spec: What our side declares.
        facts: What is known of the reference.
        results: What came out of comparing the two.
        encoder: Our side, unless it cannot be loaded at all.
        seconds: How much processor time it may take, about.
    """
    failing, matching = _targets(results, facts.expected)
    if not failing:
        return None
    search = _Search(spec, encoder, facts, failing, matching, time.process_time() + seconds)
    return search.diagnosis()


def _targets(results: Iterable[CaseResult], expected: Tokenizer) -> tuple[list[Target], list[Target]]:
    failing: list[Target] = []
    matching: list[Target] = []
    for result in results:
        name = f"{result.case.suite}/{result.case.id}"
        mode = (result.add_special, result.parse_special)
        if result.status is Status.ERROR:
            target = Target(name, result.case.text, *mode, ())
            ids = _expected_ids(target, expected)
            if ids is not None:
                failing.append(replace(target, expected=ids))
        elif result.status is not Status.SKIPPED:
            same = result.actual == result.expected
            (matching if same else failing).append(Target(name, result.case.text, *mode, result.expected))
    return failing, matching


def _expected_ids(target: Target, expected: Tokenizer) -> tuple[int, ...] | None:
    try:
        ids = expected.encode(target.text, add_special=target.add_special, parse_special=target.parse_special)
    except TokverifyError:
        return None
    return tuple(ids)


@dataclass(frozen=True, slots=True)
class _Trial:
    """Changes that were tried together: the names of the failing cases they explain, and how far the others are."""

    parts: tuple[Change, ...]
    encoder: Encoder
    explained: frozenset[str]
    distance: int

    @property
    def change(self) -> Change:
        return reduce(Change.then, self.parts)

    @property
    def rank(self) -> tuple[float, ...]:
        return -len(self.explained), not self.change.expressible, self.change.cost

    @property
    def promise(self) -> tuple[float, ...]:
        return -len(self.explained), self.distance, self.change.cost


class _Search:
    def __init__(  # noqa: PLR0913, PLR0917 - only called here
        self,
        spec: TokenizerSpec,
        encoder: Encoder | None,
        facts: Facts,
        failing: Sequence[Target],
        matching: Sequence[Target],
        deadline: float,
    ) -> None:
        self._spec = spec
        self._encoder = encoder
        self._facts = facts
        self._failing = failing
        by_size = sorted(failing, key=lambda target: len(target.text))
        self._sample = by_size[:_SAMPLE]
        self._controls = matching
        self._deadline = deadline
        self._seen: set[frozenset[str]] = set()
        self._late = False
        self._trials: list[_Trial] = []

    def diagnosis(self) -> Diagnosis:
        beam = list(self._extend(None))
        for _ in range(_DEPTH - 1):
            if self._is_explained() or self._late:
                break
            best = sorted(self._trials, key=lambda trial: trial.promise)[:_BEAM]
            tops = [trial for trial in best if trial in beam]
            beam = [longer for trial in tops for longer in self._extend(trial)]
        self._prune()
        explanations = tuple(map(self._explanation, self._ranked()))
        return Diagnosis(explanations, len(self._failing), len(self._seen), stopped_early=self._late)

    def _extend(self, trial: _Trial | None) -> Iterator[_Trial]:
        """Try every change on top of one that is a part of the explanation already."""
        spec = trial.change.expressed().transform(self._spec) if trial else self._spec
        encoder = trial.encoder if trial else self._encoder
        left = [target for target in self._sample if not trial or target.name not in trial.explained]
        evidence = Evidence(spec, encoder, self._facts, left)
        for generate in COUNTERFACTUALS.values():
            for change in generate(evidence):
                if time.process_time() > self._deadline:
                    self._late = True
                    return
                if found := self._try((*(trial.parts if trial else ()), change), trial):
                    self._trials.append(found)
                    yield found
                if self._is_explained():
                    return

    def _prune(self) -> None:
        """Leave out, of the best changes found, each part that the others can do without."""
        for trial in sorted(self._trials, key=lambda trial: trial.rank)[:1]:
            parts = trial.parts
            for part in trial.parts:
                rest = tuple(other for other in parts if other is not part)
                found = self._try(rest, None) if len(rest) > 1 else None
                if found and found.explained >= trial.explained:
                    self._trials.append(found)
                    parts = rest

    def _is_explained(self) -> bool:
        return any(len(trial.explained) == len(self._failing) for trial in self._trials)

    def _try(self, parts: tuple[Change, ...], before: _Trial | None) -> _Trial | None:
        """Return what changes together explain; None if that is no more than before, or they break what matches."""
        sentences = frozenset(part.sentence for part in parts)
        if sentences in self._seen:
            return None
        self._seen.add(sentences)
        change = reduce(Change.then, parts)
        try:
            encoder = change.encoder(self._spec, self._encoder)
        except TokverifyError:
            return None
        results = [(target, target.ids(encoder)) for target in self._sample]
        explained = {target.name for target, ids in results if ids == target.expected}
        distance = sum(_distance(ids, target.expected) for target, ids in results)
        if distance >= (before.distance if before else self._base_distance()):
            return None
        if any(target.ids(encoder) != target.expected for target in self._controls):
            return None
        if explained:
            rest = self._failing if len(self._sample) < len(self._failing) else ()
            explained |= {target.name for target in rest if target.ids(encoder) == target.expected}
        return _Trial(parts, encoder, frozenset(explained), distance)

    def _base_distance(self) -> int:
        return sum(
            _distance(target.ids(self._encoder) if self._encoder else None, target.expected) for target in self._sample
        )

    def _ranked(self) -> list[_Trial]:
        """Return the best trials, none of which only adds to a better one."""
        kept: list[_Trial] = []
        for trial in sorted(self._trials, key=lambda trial: trial.rank):
            if trial.explained and not any(
                trial.explained <= better.explained and trial.change.cost > better.change.cost for better in kept
            ):
                kept.append(trial)
        return kept[:_LISTED]

    def _explanation(self, trial: _Trial) -> Explanation:
        left = tuple(target.name for target in self._failing if target.name not in trial.explained)
        change = trial.change
        return Explanation(
            change.sentence,
            len(trial.explained),
            len(self._failing),
            left,
            change.expressible,
            change.repair,
            change,
        )


def _distance(ids: Sequence[int] | None, expected: Sequence[int]) -> int:
    """Return how far ids are from the expected ones: 0 only where they are equal."""
    if ids is None:
        return len(expected) + 2
    if tuple(ids) == tuple(expected):
        return 0
    actual, wanted = Counter(ids), Counter(expected)
    return 1 + sum((actual - wanted).values()) + sum((wanted - actual).values())
