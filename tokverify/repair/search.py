"""Search for the smallest change that makes failing cases match: single changes first, then additions to the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Generic, TypeVar

from tokverify.compare.damage.decoder import find_broken_decoder
from tokverify.compare.limits.explaining import explainer_of
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.engine.engine_choice import NATIVE
from tokverify.errors import TokverifyError
from tokverify.repair import cost
from tokverify.repair.budget import Budget
from tokverify.repair.change import TokenizerChange, shares_model
from tokverify.repair.counterfactual import Problem, decoding_problem, id_problem
from tokverify.repair.evidence import Goal, Target
from tokverify.repair.other_model.vocabulary import has_other_tokens, is_of_other_model
from tokverify.report.diagnosis import Diagnosis, Explanation
from tokverify.report.run import CaseResult
from tokverify.spec import TokenizerSpec

_Goal = TypeVar("_Goal", bound=Goal)

_SAMPLE = 200
"""Every change is tried on this many failing cases, those with the shortest expected results."""
_DEPTH = 3
"""At most this many changes are combined."""
_BEAM = 3
"""Each round extends this many of the best combinations."""
_FEW = ("flags", "special ids")
"""The kinds with so few changes that they are tried even if the budget is spent."""
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
    facts: Opened,
    results: Iterable[CaseResult],
    *,
    encoder: Encoder | None = None,
    budget: Budget | None = None,
) -> DiagnosisResult | None:
    """Explain the failing cases, or if none fails, the cases whose ids decode differently.

    Returns None if there are neither, no change on our side could fix them, or the reference belongs to another model.
    Differences in decoding that nothing explains are not reported, because many references decode some tokens in their
    own way. If nearly all tokens of the reference differ, only changes that explain most failing cases are reported.

    Our side has no encoder if it cannot be loaded.
    """
    budget = budget or Budget()
    results = list(results)
    ids = id_problem(spec, encoder, results, facts)
    if ids:
        if not has_other_tokens(spec.tokens, facts.spec.tokens if facts.spec else ()):
            return _Search(spec, encoder, ids, facts, budget).result()
        if is_of_other_model(spec, facts):
            return None
        # Parts of another model's tokenizer also make some texts match, but explain nothing.
        most = _Search(spec, encoder, ids, facts, budget, len(ids.failing) // 2 + 1).result()
        return most if most.changes else None
    decoding = decoding_problem(results, facts, encoder) if encoder else None
    if encoder is None or decoding is None or find_broken_decoder(encoder, facts):
        return None
    # Whatever makes decoded texts more alike is no cause: libraries have their own ways.
    most = _Search(spec, encoder, decoding, facts, budget, len(decoding.failing) // 2 + 1).result()
    return _drop_rivals(most) if most.changes else None


def _drop_rivals(found: DiagnosisResult) -> DiagnosisResult:
    """Drop what makes decoded texts only more alike, and explains none that the reference's own way does not."""
    first, *others = found.diagnosis.explanations
    if first.expressible or first.broken:
        return found
    left = set(first.unexplained)
    kept = [0, *(index for index, other in enumerate(others, 1) if not left.issubset(other.unexplained))]
    explanations = tuple(found.diagnosis.explanations[index] for index in kept)
    return DiagnosisResult(
        replace(found.diagnosis, explanations=explanations), tuple(found.changes[index] for index in kept)
    )


class _Search(Generic[_Goal]):
    def __init__(  # noqa: PLR0913, PLR0917 - one search, one problem
        self,
        spec: TokenizerSpec,
        encoder: Encoder | None,
        problem: Problem[_Goal],
        facts: Opened,
        budget: Budget,
        least: int = 1,
    ) -> None:
        self._spec = spec
        self._facts = facts
        self._encoder = encoder
        self._problem = problem
        self._failing = problem.failing
        by_size = sorted(problem.failing, key=lambda goal: len(goal.expected))
        self._sample = by_size[:_SAMPLE]
        self._budget = budget
        self._least = least
        self._seen: set[frozenset[str]] = set()
        self._not_tried: tuple[str, ...] = ()
        self._trials: list[Trial] = []
        self._before: list[int] | None = None
        self._before = self._distances(encoder)

    def result(self) -> DiagnosisResult:
        beam = list(self._extend())
        if not self._is_explained():
            self._try_declared()
        for _ in range(_DEPTH - 1):
            if self._is_explained() or self._not_tried:
                break
            best = sorted(self._trials, key=lambda trial: trial.promise)[:_BEAM]
            parents = [trial for trial in best if trial in beam]
            beam = list(chain.from_iterable(map(self._extend, parents)))
        if self._not_tried and self._trials:
            list(self._extend(min(self._trials, key=lambda trial: trial.promise), only=_FEW))
            self._not_tried = () if self._is_explained() else self._not_tried
        self._prune()
        ranked = self._rank_trials()
        diagnosis = Diagnosis(
            tuple(map(self._explanation, ranked)),
            len(self._failing),
            len(self._seen),
            stopped_early=bool(self._not_tried),
            not_tried=self._not_tried,
            decoding=self._problem.decoding,
        )
        return DiagnosisResult(diagnosis, tuple(trial.change for trial in ranked))

    def _extend(self, trial: Trial | None = None, only: Collection[str] = ()) -> Iterator[Trial]:
        """Try every change in addition to those of a trial; those of the kinds in `only` whatever the budget is."""
        spec, encoder = (trial.encoder.spec, trial.encoder) if trial else (self._spec, self._encoder)
        left = [goal for goal in self._sample if not trial or goal.name not in trial.explained]
        changes = self._problem.changes(spec, encoder, left)
        has_pre_tokenizer = trial is not None and any(part.kind == "pre" for part in trial.parts)
        for name in only or changes:
            for change in changes.get(name, ()):
                if has_pre_tokenizer and change.kind == "pre":
                    continue  # It would only replace the other one, and was tried alone.
                if self._budget.is_spent and not only:
                    self._not_tried = _from(name, changes)
                    return
                if found := self._try((*(trial.parts if trial else ()), change), trial):
                    self._trials.append(found)
                    yield found
                if self._is_explained():
                    return

    def _try_declared(self) -> None:
        """Try everything that the reference declares differently, however many faults that corrects."""
        declared = () if self._budget.is_spent else tuple(self._problem.declared())
        if len(declared) > 1:
            found = self._try(declared, None)
            if found:
                self._trials.append(found)

    def _prune(self) -> None:
        """Drop each part of the best combination that is not needed to explain the same cases."""
        for trial in sorted(self._trials, key=lambda trial: trial.rank)[:1]:
            best = trial
            for part in sorted(trial.parts, key=lambda part: -part.cost):
                rest = tuple(other for other in best.parts if other is not part)
                found = self._try(rest, None) if rest else None
                if found and found.explained >= best.explained and found.broken <= best.broken:
                    self._trials.append(found)
                    best = found

    def _is_explained(self) -> bool:
        return any(trial.solved == len(self._failing) and not trial.broken for trial in self._trials)

    def _try(self, parts: tuple[TokenizerChange, ...], before: Trial | None) -> Trial | None:
        """Return what changes together explain; None if that is no more than before, or more speaks against them."""
        sentences = frozenset(part.sentence for part in parts)
        if sentences in self._seen:
            return None
        self._seen.add(sentences)
        try:
            encoder = self._changed(parts, before)
        except TokverifyError:
            return None
        if self._encoder is None or not shares_model(self._encoder, encoder.spec, encoder.settings):
            self._budget.spend_on_model(encoder.vocab_size)
        distances = self._distances(encoder)
        earlier, reached = (before.distance, before.reached) if before else (sum(self._distances(self._encoder)), 0)
        # A few long texts may get much worse by what is right for nearly all others.
        is_better = distances.count(0) - reached > len(distances) // BROKEN_WEIGHT
        # The nearest name of a pre-tokenizer may lead to ids that are no nearer, but that limits explain.
        is_nearest = self._has_declared_pre_tokenizer(encoder.spec)
        if sum(distances) >= earlier and not is_better and not is_nearest:
            return None
        explained = {goal.name for goal, left in zip(self._sample, distances, strict=True) if not left}
        if explained and len(self._sample) < len(self._failing):
            self._budget.spend_on(self._failing)
            explained = {goal.name for goal in self._failing if is_reached(goal, encoder)}
        # Of what no file can express, limits say little.
        most = len(explained) if all(part.expressible for part in parts) else len(explained) // BROKEN_WEIGHT
        most = len(self._failing) if is_nearest else most
        limited = self._limited(encoder, explained, most)
        if not explained and not limited and sum(distances) >= earlier:
            return None
        broken = self._broken(encoder, len(explained) + len(limited))
        if broken is None:
            return None
        return Trial(parts, encoder, frozenset(explained), limited, broken, sum(distances), distances.count(0))

    def _changed(self, parts: Sequence[TokenizerChange], before: Trial | None) -> Encoder:
        """Return the encoder of several changes; after those of an earlier trial, only the last one is made.

        Raises:
            TokverifyError: If llama.cpp would refuse the changed tokenizer.
        """
        change = reduce(TokenizerChange.then, parts)
        if before is None:
            return change.encoder(self._spec, self._encoder)
        shares_tables = before.encoder.engine.name == NATIVE
        last = replace(change, transform=parts[-1].transform)
        return last.encoder(before.encoder.spec, before.encoder if shares_tables else self._encoder)

    def _has_declared_pre_tokenizer(self, spec: TokenizerSpec) -> bool:
        """Whether a changed file has the pre-tokenizer that the reference would be converted with, unlike before."""
        return self._facts.spec is not None and spec.pre == self._facts.spec.pre != self._spec.pre

    def _limited(self, encoder: Encoder, explained: Collection[str], most: int) -> frozenset[str]:
        """Return the names of the cases that still fail, at most `most`, if limits of llama.cpp explain all of them."""
        left = [goal for goal in self._failing if goal.name not in explained]
        if self._problem.decoding or not left or len(left) > most:
            return frozenset()
        self._budget.spend_on(left)
        explainer = explainer_of(encoder, self._facts)
        is_explained = all(isinstance(goal, Target) and explainer.find(goal.as_text()) for goal in left)
        return frozenset(goal.name for goal in left) if is_explained else frozenset()

    def _distances(self, encoder: Encoder | None) -> list[int]:
        """Return how far each result of the sample is from the expected one."""
        if encoder is self._encoder and self._before is not None:
            return self._before
        self._budget.spend_on(self._sample)
        return [distance(goal.outcome(encoder) if encoder else None, goal.expected) for goal in self._sample]

    def _broken(self, encoder: Encoder, explained: int) -> frozenset[str] | None:
        """Return the names of the matching cases that now fail; None if too many do, given how many are explained.

        What llama.cpp cannot do with the right file either speaks against no change.
        """
        broken: list[Goal] = []
        self._budget.spend_on(self._problem.controls)
        for goal in self._problem.controls:
            if not is_reached(goal, encoder):
                broken.append(goal)
                if len(broken) > explained:
                    return None
        if broken and not self._problem.decoding:
            explainer = explainer_of(encoder, self._facts)
            broken = [goal for goal in broken if not (isinstance(goal, Target) and explainer.find(goal.as_text()))]
        # A change that explains everything may be right, and llama.cpp may not do all that the name stands for.
        explains_all = explained == len(self._failing) and len(broken) < explained
        few = explains_all or len(broken) <= explained // BROKEN_WEIGHT
        return frozenset(goal.name for goal in broken) if few else None

    def _rank_trials(self) -> list[Trial]:
        """Return the best trials, without those that explain no more than a cheaper one."""
        kept: list[Trial] = []
        for trial in sorted(self._trials, key=lambda trial: trial.rank):
            if (
                trial.solved >= self._least
                and not self._is_weak_guess(trial)
                and not any(
                    trial.explained <= better.explained and trial.change.cost > better.change.cost for better in kept
                )
            ):
                kept.append(trial)
        return kept[:_LISTED]

    def _is_weak_guess(self, trial: Trial) -> bool:
        """Whether a trial replaces a whole array by what trainers usually write, and leaves most of the cases."""
        guesses = any(part.cost == cost.CONVENTIONAL_ARRAY for part in trial.parts)
        return guesses and 2 * trial.solved < len(self._failing)

    def _explanation(self, trial: Trial) -> Explanation:
        left = tuple(goal.name for goal in self._failing if goal.name not in trial.explained | trial.limited)
        change = trial.change
        parts = change.split()
        return Explanation(
            kind=change.kind,
            sentence=change.sentence,
            explained=len(trial.explained),
            failing=len(self._failing),
            unexplained=left,
            broken=len(trial.broken),
            expressible=change.expressible,
            expressible_part=parts[0].sentence if parts else "",
            inexpressible_part=parts[1].sentence if parts else "",
            gguf_command=parts[0].gguf_command if parts else change.gguf_command,
        )


def _from(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return a name and those after it."""
    listed = list(names)
    return tuple(listed[listed.index(name) :])


BROKEN_WEIGHT = 4
"""A wrong file matches some cases by accident, so a change may break these if it explains this many times as many."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Changes that were tried together."""

    parts: tuple[TokenizerChange, ...]
    encoder: Encoder
    explained: frozenset[str]
    """The names of the failing cases that match with them."""
    limited: frozenset[str]
    """The names of those that then fail only because of limits of llama.cpp."""
    broken: frozenset[str]
    """The names of the matching cases that fail with them."""
    distance: int
    """How much the results of the sample still differ from the expected ones."""
    reached: int
    """How many of them do not."""

    @property
    def change(self) -> TokenizerChange:
        """All of the changes as one."""
        return reduce(TokenizerChange.then, self.parts)

    @property
    def solved(self) -> int:
        """How many of the failing cases need no other change to the file."""
        return len(self.explained) + len(self.limited)

    @property
    def weight(self) -> int:
        """The evidence for the changes, less the evidence against them."""
        return self.solved - BROKEN_WEIGHT * len(self.broken)

    @property
    def rank(self) -> tuple[float, ...]:
        """Order explanations, best first."""
        return -self.weight, not self.change.expressible, self.change.cost

    @property
    def promise(self) -> tuple[float, ...]:
        """Order combinations by how much an additional change may achieve, best first."""
        return -self.weight, self.distance, self.change.cost


def is_reached(goal: Goal, encoder: Encoder) -> bool:
    """Whether an encoder returns what a case expects."""
    return goal.outcome(encoder) == goal.expected


def distance(outcome: Sequence[int] | None, expected: Sequence[int]) -> int:
    """Return a measure of how much ids or bytes differ from the expected ones; 0 only if they are equal."""
    if outcome is None:
        return len(expected) + 2
    if outcome == expected:
        return 0
    surplus = Counter(outcome)
    surplus.subtract(expected)
    return 1 + sum(map(abs, surplus.values()))
