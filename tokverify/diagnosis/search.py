"""Search for the smallest change that makes failing cases match: single changes first, then additions to the best."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
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
"""The default limit, in seconds of processor time."""
_SAMPLE = 200
"""Every change is tried on this many failing cases, those with the shortest expected results."""
_DEPTH = 3
"""At most this many changes are combined."""
_BEAM = 3
"""Each round extends this many of the best combinations."""
_LISTED = 3
"""At most this many explanations are reported."""


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
    """Explain the failing cases, or if none fails, the cases whose ids decode differently.

    Returns None if there are neither, or no change on our side could fix them. Differences in decoding that nothing
    explains are not reported, because many references decode some tokens in their own way. If nearly all tokens of the
    reference differ, only changes that explain most failing cases are reported.

    Args:
        spec: What our side declares.
        facts: What is known about the reference.
        results: The results of comparing the two.
        encoder: Our side; None if it cannot be loaded.
        seconds: The approximate limit of processor time.
    """
    deadline = time.process_time() + seconds
    results = list(results)
    ids = id_problem(results, facts)
    if ids:
        if not _is_of_another_model(spec, facts):
            return _Search(spec, encoder, ids, deadline).result()
        # Parts of another model's tokenizer also make some texts match, but explain nothing.
        most = _Search(spec, encoder, ids, deadline, len(ids.failing) // 2 + 1).result()
        return most if most.changes else None
    decoding = decoding_problem(results, facts, encoder) if encoder else None
    result = _Search(spec, encoder, decoding, deadline).result() if decoding else None
    return result if result and result.changes else None


def _is_of_another_model(spec: TokenizerSpec, facts: Facts) -> bool:
    """Whether nearly all tokens of the reference differ from ours."""
    reference = facts.spec.tokens if facts.spec else ()
    differing = sum(ours != theirs for ours, theirs in zip(spec.tokens, reference, strict=False))
    return differing > NEARLY_ALL * min(len(spec.tokens), len(reference))


@dataclass(frozen=True, slots=True)
class _Trial:
    """Changes that were tried together."""

    parts: tuple[TokenizerChange, ...]
    encoder: Encoder
    explained: frozenset[str]
    """The names of the failing cases that match with them."""
    distance: int
    """How much the results of the sample still differ from the expected ones."""

    @property
    def change(self) -> TokenizerChange:
        return reduce(TokenizerChange.then, self.parts)

    @property
    def rank(self) -> tuple[float, ...]:
        """Order explanations, best first."""
        return -len(self.explained), not self.change.expressible, self.change.cost

    @property
    def promise(self) -> tuple[float, ...]:
        """Order combinations by how much an additional change may achieve, best first."""
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
        beam = list(self._extend())
        for _ in range(_DEPTH - 1):
            if self._is_explained() or self._late:
                break
            best = sorted(self._trials, key=lambda trial: trial.promise)[:_BEAM]
            parents = [trial for trial in best if trial in beam]
            beam = list(chain.from_iterable(map(self._extend, parents)))
        self._prune()
        ranked = self._rank_trials()
        diagnosis = Diagnosis(
            tuple(map(self._explanation, ranked)),
            len(self._failing),
            len(self._seen),
            stopped_early=self._late,
            decoding=self._problem.decoding,
        )
        return DiagnosisResult(diagnosis, tuple(trial.change for trial in ranked))

    def _extend(self, trial: _Trial | None = None) -> Iterator[_Trial]:
        """Try every change in addition to those of a trial."""
        spec = trial.change.expressible_part().transform(self._spec) if trial else self._spec
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
        """Drop each part of the best combination that is not needed to explain the same cases."""
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
        """Return what changes together explain; None if that is no more than before, or they break a matching case."""
        sentences = frozenset(part.sentence for part in parts)
        if sentences in self._seen:
            return None
        self._seen.add(sentences)
        try:
            encoder = reduce(TokenizerChange.then, parts).encoder(self._spec, self._encoder)
        except TokverifyError:
            return None
        distances = self._distances(encoder)
        if sum(distances) >= (before.distance if before else sum(self._distances(self._encoder))):
            return None
        if not all(_is_reached(goal, encoder) for goal in self._problem.controls):
            return None
        explained = {goal.name for goal, distance in zip(self._sample, distances, strict=True) if not distance}
        if explained and len(self._sample) < len(self._failing):
            explained = {goal.name for goal in self._failing if _is_reached(goal, encoder)}
        return _Trial(parts, encoder, frozenset(explained), sum(distances))

    def _distances(self, encoder: Encoder | None) -> list[int]:
        """Return how far each result of the sample is from the expected one."""
        return [_distance(goal.outcome(encoder) if encoder else None, goal.expected) for goal in self._sample]

    def _rank_trials(self) -> list[_Trial]:
        """Return the best trials, without those that explain no more than a cheaper one."""
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


def _is_reached(goal: Goal, encoder: Encoder) -> bool:
    return goal.outcome(encoder) == goal.expected


def _distance(outcome: Sequence[int] | None, expected: Sequence[int]) -> int:
    """Return a measure of how much ids or bytes differ from the expected ones; 0 only if they are equal."""
    if outcome is None:
        return len(expected) + 2
    if outcome == expected:
        return 0
    actual_counts, expected_counts = Counter(outcome), Counter(expected)
    return 1 + sum((actual_counts - expected_counts).values()) + sum((expected_counts - actual_counts).values())
