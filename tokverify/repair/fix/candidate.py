"""Candidates for a repair: what is certain first, then what the diagnosis names, then what the reference declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from tokverify.repair.budget import Budget
from tokverify.repair.diagnosis import DiagnosisResult, Facts, TokenizerChange, declared_changes, diagnose
from tokverify.repair.evidence import Evidence
from tokverify.repair.fix.certain import certain_changes
from tokverify.repair.fix.measure import DECODING, TEMPLATE, TYPES, Measure, Measuring
from tokverify.repair.probed_type_change import extended_by_probing, probed_types
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec
from tokverify.texts.target_text import is_generated


class Candidates:
    """Generates the changes to try for one reference, and keeps the first diagnosis."""

    def __init__(self, facts: Facts, measuring: Measuring, encodings: int) -> None:
        self._facts = facts
        self._measuring = measuring
        self._encodings = encodings
        self.diagnosis: DiagnosisResult | None = None
        """The first diagnosis that explains something, or else the first one."""

    def changes(self, spec: TokenizerSpec, measure: Measure) -> Iterator[TokenizerChange]:
        """Yield changes that may repair what `measure` has found in `spec`, the most certain ones first."""
        for change in self._all_changes(spec, measure):
            expressible = change.expressible_part()
            if changed_values(spec, expressible.transform(spec)):
                yield expressible

    def is_foreign_decoding(self, spec: TokenizerSpec, measure: Measure) -> bool:
        """Whether all cases that decode differently do so because of what only the reference's decoder does."""
        if not measure.counts[DECODING]:
            return True
        results = [result for result in measure.results if not is_generated(result.case)]
        agreeing = [result for result in results if result.actual == result.expected]
        # A verdict must not depend on what the repair has spent.
        budget = Budget(self._encodings)
        found = diagnose(spec, self._facts, agreeing, encoder=measure.encoder, budget=budget)
        best = found.diagnosis.explanations[0] if found and found.changes else None
        return best is not None and not best.expressible and not best.unexplained

    def _all_changes(self, spec: TokenizerSpec, measure: Measure) -> Iterator[TokenizerChange]:
        yield from self._diagnosed(spec, measure, generated=False)
        yield from certain_changes(spec, measure.encoder, self._facts)
        yield from self._diagnosed(spec, measure, generated=True)
        declared = declared_changes(spec, measure.encoder, self._facts)
        yield from declared
        if len(declared) > 1:
            yield reduce(TokenizerChange.then, declared)
        if measure.counts[TYPES] and measure.encoder:
            yield from probed_types(Evidence(spec, measure.encoder, self._facts, ()))
        if measure.counts[TEMPLATE]:
            yield _set_template(self._measuring.token_list.template)

    def _diagnosed(self, spec: TokenizerSpec, measure: Measure, *, generated: bool) -> Iterator[TokenizerChange]:
        """Yield what a diagnosis of the cases names; with `generated`, also of the generated ones."""
        results = [result for result in measure.results if generated or not is_generated(result.case)]
        budget = self._measuring.budget.part(self._encodings)
        result = diagnose(spec, self._facts, results, encoder=measure.encoder, budget=budget)
        if result is None:
            return
        if self.diagnosis is None or not self.diagnosis.changes:
            self.diagnosis = result
        for change in sorted(result.changes, key=lambda change: not change.expressible):
            are_types = {step.kind for step in change.steps} == {"types"}
            if are_types and (extended := extended_by_probing(change, spec, self._facts)):
                yield extended
            yield change


def _set_template(template: str | None) -> TokenizerChange:
    return TokenizerChange(
        kind="chat_template",
        sentence="using the reference's chat template (tokenizer.chat_template)",
        cost=1.0,
        transform=lambda spec: replace(spec, chat_template=template),
    )
