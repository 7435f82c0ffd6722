"""Search for the changes that repair a file, one after the other, each confirmed by texts for the tokens it changes."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from tokverify.case import Case
from tokverify.engine.encoder import Encoder
from tokverify.repair.added_token_change import padding
from tokverify.repair.diagnosis import Facts, TokenizerChange
from tokverify.repair.fix.candidate import Candidates
from tokverify.repair.fix.changed import changed_ids, unverified_ids
from tokverify.repair.fix.every_token import EveryToken
from tokverify.repair.fix.measure import Measure, Measuring
from tokverify.repair.fix.pruning import prune
from tokverify.texts.target_text import general_cases, target_cases

if TYPE_CHECKING:
    from tokverify.sources.gguf.declaration import Declaration

_ROUNDS = 6
"""At most this many faults are repaired one after the other."""
_VERIFICATIONS = 4
"""How many times texts are made for tokens that a repair changes, each time for those that are still unverified."""


class RepairSearch:
    """Searches for a repair.

    Args:
        declaration: The file.
        facts: What is known about the reference.
        measuring: Compares tokenizers with the reference; it gets the texts that the search makes.
        encodings: How many texts a diagnosis may encode, approximately.
    """

    def __init__(self, declaration: Declaration, facts: Facts, measuring: Measuring, encodings: int) -> None:
        self._declaration = declaration
        self._spec = declaration.spec
        self._facts = facts
        self._measuring = measuring
        self._every_token = EveryToken(facts.expected, facts.spec) if facts.expected else None
        self._rejected: set[str] = set()
        self._was_loaded = self._add_first_cases()
        self.candidates = Candidates(facts, measuring, encodings)
        self.parts: list[TokenizerChange] = []
        """The changes found so far."""
        self.current = self._spec
        """The tokenizer with these changes."""
        self.before = self.measure = measuring.measure(self._spec)
        """How the original differs from the reference, and how `current` does."""

    def _add_first_cases(self) -> bool:
        """Add the texts that need no change, and return whether our side can be loaded."""
        encoder = self._measuring.measure(self._spec).encoder
        self._measuring.add_cases(general_cases(encoder, self._facts.expected))
        self._measuring.add_cases(self._differing_tokens(encoder))
        return encoder is not None

    def run(self) -> None:
        """Take changes until no difference is left or nothing helps; then leave out those that are not necessary."""
        while self._goes_on() and (found := self._next_change()):
            self._take(*found)
        if self.parts:
            self.parts = self._completed(prune(self._measuring, self._spec, self.parts, self._facts.expected))
            self.current = reduce(TokenizerChange.then, self.parts).transform(self._spec)
            self.measure = self._measure_unverified()
            self.before = self._measuring.measure(self._spec)

    def _goes_on(self) -> bool:
        is_spent = bool(self.parts) and self._measuring.budget.is_spent
        return not self.measure.is_clean and len(self.parts) + len(self._rejected) < _ROUNDS and not is_spent

    def _next_change(self) -> tuple[TokenizerChange, Measure] | None:
        """Return the first change that makes the tokenizer better in one way and worse in none, and its measure."""
        for change in self.candidates.changes(self.current, self.measure):
            if change.sentence in self._rejected:
                continue
            found = self._measuring.measure(change.transform(self.current))
            if found.improves(self.measure):
                return change, found
            if self._measuring.budget.is_spent:
                break
        return None

    def _take(self, change: TokenizerChange, measure: Measure) -> None:
        """Make a change, unless texts for the tokens that it changes show that it does more harm than good."""
        previous = self.current
        self.parts.append(change)
        self.current, self.measure = change.transform(previous), measure
        if not self._measuring.add_cases(self._changed_token_cases()):
            return
        self.before, self.measure = self._measuring.measure(self._spec), self._measuring.measure(self.current)
        last = self.before if previous is self._spec else self._measuring.measure(previous)
        if self.measure.total > last.total:
            self._rejected.add(self.parts.pop().sentence)
            self.current, self.measure = previous, last

    def _changed_token_cases(self) -> list[Case]:
        cases = target_cases(changed_ids(self._spec, self.current), self.measure.encoder, self._facts.expected)
        if not self._was_loaded:
            # Only now is it known which texts our side matches.
            cases += general_cases(self.measure.encoder, self._facts.expected)
        return [*cases, *self._differing_tokens(self.measure.encoder)]

    def _differing_tokens(self, encoder: Encoder | None) -> list[Case]:
        return self._every_token.differing_cases(encoder) if self._every_token and encoder else []

    def _measure_unverified(self) -> Measure:
        """Measure a repair that finds no difference also by texts for the tokens that nothing has verified so far."""
        measure = self._measuring.measure(self.current)
        for _ in range(_VERIFICATIONS):
            ids = unverified_ids(self._spec, self.current, self._facts, measure) if measure.is_clean else []
            if not self._measuring.add_cases(target_cases(ids, measure.encoder, self._facts.expected)):
                break
            measure = self._measuring.measure(self.current)
        return measure

    def _completed(self, parts: list[TokenizerChange]) -> list[TokenizerChange]:
        """Add padding if the parts change the number of tokens and leave embeddings without one."""
        size = len(reduce(TokenizerChange.then, parts).transform(self._spec).tokens)
        rows = self._declaration.embedding_rows or 0
        return [*parts, padding(size, rows)] if size != len(self._spec.tokens) and size < rows else parts
