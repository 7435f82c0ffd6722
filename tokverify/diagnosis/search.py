"""Search for the smallest change that makes failing cases match: each change alone, then on top of the best ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Generic, TypeVar

from tokverify.diagnosis.change import TokenizerChange
from tokverify.diagnosis.evidence import Goal
from tokverify.diagnosis.problem import Problem, decoding_problem, id_problem
from tokverify.errors import TokverifyError
from tokverify.report.diagnosis import Diagnosis, Explanation
from tokverify.report.run import NEARLY_ALL

if TYPE_CHECKING:
    from tokverify.diagnosis.facts import Facts
    from tokverify.engine.encoder import Encoder
    from tokverify.report.run import CaseResult
    from tokverify.spec import TokenizerSpec

_Goal = TypeVar("_Goal", bound=Goal)

SECONDS = 10.0
_SAMPLE = 200
_DEPTH = 3
_BEAM = 3
_LISTED = 3


@dataclass(frozen=True, slots=True)
class DiagnosisResult:
    """A diagnosis, and the changes that its explanations describe."""

    diagnosis: Diagnosis
    """What goes into a report."""
    changes: tuple[TokenizerChange, ...]
    """The change behind each explanation, in the same order."""


def diagnose(
    spec: TokenizerSpec,
    facts: Facts,
    results: Iterable[CaseResult],
    *,
    encoder: Encoder | None = None,
    seconds: float = SECONDS,
) -> DiagnosisResult | None:
    """Explain the failing cases; if none fails, those whose ids are decoded differently.

    None if there are neither, or no change of our side could put right what there is. Decoding that nothing explains
    is not told of either: many references show some tokens in a way of their own. Nor is anything told of a reference
    with nearly all tokens different, unless it is of most failing cases.

    Args:
        spec: What our side declares.
        facts: What is known of the reference.
        results: What came out of comparing the two.
        encoder: Our side, unless it cannot be loaded at all.
        seconds: How much processor time it may take, about.
    """
    deadline = time.process_time() + seconds
    results = list(results)
    ids = id_problem(results, facts)
    if ids:
        if not _is_of_another_model(spec, facts):
            return _Search(spec, encoder, ids, deadline).result()
        # Parts of another model's tokenizer make some texts match too, but explain nothing.
        told = _Search(spec, encoder, ids, deadline, len(ids.failing) // 2 + 1).result()
        return told if told.changes else None
    decoding = decoding_problem(results, facts, encoder) if encoder else None
    found = _Search(spec, encoder, decoding, deadline).result() if decoding else None
    return found if found and found.changes else None


def _is_of_another_model(spec: TokenizerSpec, facts: Facts) -> bool:
    """Whether nearly every token of the reference is another one, as far as it tells."""
    told = facts.spec.tokens if facts.spec else ()
    differing = sum(now != then for now, then in zip(spec.tokens, told, strict=False))
    return differing > NEARLY_ALL * min(len(spec.tokens), len(told))


@dataclass(frozen=True, slots=True)
class _Trial:
    """Changes that were tried together: the names of the failing cases they explain, and how far the others are."""

    parts: tuple[TokenizerChange, ...]
    encoder: Encoder
    explained: frozenset[str]
    distance: int

    @property
    def change(self) -> TokenizerChange:
        return reduce(TokenizerChange.then, self.parts)

    @property
    def rank(self) -> tuple[float, ...]:
        return -len(self.explained), not self.change.expressible, self.change.cost

    @property
    def promise(self) -> tuple[float, ...]:
        return -len(self.explained), self.distance, self.change.cost


class _Search(Generic[_Goal]):
    def __init__(
        self, spec: TokenizerSpec, encoder: Encoder | None, problem: Problem[_Goal], deadline: float, least: int = 1
    ) -> None:
        self._spec = spec
        self._encoder = encoder
        self._problem = problem
        self._failing = problem.failing
        by_size = sorted(problem.failing, key=lambda goal: len(goal.expected))
        self._sample = by_size[:_SAMPLE]
        self._deadline = deadline
        self._least = least
        self._seen: set[frozenset[str]] = set()
        self._late = False
        self._trials: list[_Trial] = []

    def result(self) -> DiagnosisResult:
        beam = list(self._extend(None))
        for _ in range(_DEPTH - 1):
            if self._is_explained() or self._late:
                break
            best = sorted(self._trials, key=lambda trial: trial.promise)[:_BEAM]
            tops = [trial for trial in best if trial in beam]
            beam = [longer for trial in tops for longer in self._extend(trial)]
        self._prune()
        ranked = self._ranked()
        diagnosis = Diagnosis(
            tuple(map(self._explanation, ranked)),
            len(self._failing),
            len(self._seen),
            stopped_early=self._late,
            decoding=self._problem.decoding,
        )
        return DiagnosisResult(diagnosis, tuple(trial.change for trial in ranked))

    def _extend(self, trial: _Trial | None) -> Iterator[_Trial]:
        """Try every change on top of one that is a part of the explanation already."""
        spec = trial.change.expressed().transform(self._spec) if trial else self._spec
        encoder = trial.encoder if trial else self._encoder
        left = [goal for goal in self._sample if not trial or goal.name not in trial.explained]
        for change in self._problem.changes(spec, encoder, left):
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

    def _try(self, parts: tuple[TokenizerChange, ...], before: _Trial | None) -> _Trial | None:
        """Return what changes together explain; None if that is no more than before, or they break what matches."""
        sentences = frozenset(part.sentence for part in parts)
        if sentences in self._seen:
            return None
        self._seen.add(sentences)
        change = reduce(TokenizerChange.then, parts)
        try:
            encoder = change.encoder(self._spec, self._encoder)
        except TokverifyError:
            return None
        outcomes = [(goal, goal.outcome(encoder)) for goal in self._sample]
        explained = {goal.name for goal, outcome in outcomes if outcome == goal.expected}
        distance = sum(_distance(outcome, goal.expected) for goal, outcome in outcomes)
        if distance >= (before.distance if before else self._base_distance()):
            return None
        if any(goal.outcome(encoder) != goal.expected for goal in self._problem.controls):
            return None
        if explained:
            rest = self._failing if len(self._sample) < len(self._failing) else ()
            explained |= {goal.name for goal in rest if goal.outcome(encoder) == goal.expected}
        return _Trial(parts, encoder, frozenset(explained), distance)

    def _base_distance(self) -> int:
        return sum(
            _distance(goal.outcome(self._encoder) if self._encoder else None, goal.expected) for goal in self._sample
        )

    def _ranked(self) -> list[_Trial]:
        """Return the best trials, none of which only adds to a better one."""
        kept: list[_Trial] = []
        for trial in sorted(self._trials, key=lambda trial: trial.rank):
            if len(trial.explained) >= self._least and not any(
                trial.explained <= better.explained and trial.change.cost > better.change.cost for better in kept
            ):
                kept.append(trial)
        return kept[:_LISTED]

    def _explanation(self, trial: _Trial) -> Explanation:
        left = tuple(goal.name for goal in self._failing if goal.name not in trial.explained)
        change = trial.change
        return Explanation(
            kind=change.kind,
            sentence=change.sentence,
            explained=len(trial.explained),
            failing=len(self._failing),
            unexplained=left,
            expressible=change.expressible,
            gguf_command=change.gguf_command,
        )


def _distance(outcome: Sequence[int] | None, expected: Sequence[int]) -> int:
    """Return how far ids, or bytes, are from the expected ones: 0 only where they are equal."""
    if outcome is None:
        return len(expected) + 2
    if outcome == expected:
        return 0
    actual, wanted = Counter(outcome), Counter(expected)
    return 1 + sum((actual - wanted).values()) + sum((wanted - actual).values())
