"""Search for the changes that repair a file, one after the other, each confirmed by texts for the tokens it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from tokverify.case import Case
from tokverify.compare.blame import explain_blame
from tokverify.compare.damage import find_damage
from tokverify.compare.damage.decoder import find_broken_decoder
from tokverify.compare.opened import Opened
from tokverify.compare.template_difference import paired_templates
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.repair.added_token_change import padding
from tokverify.repair.budget import Budget
from tokverify.repair.change import TokenizerChange
from tokverify.repair.declared_change import declared_changes
from tokverify.repair.evidence import Evidence
from tokverify.repair.fix.certain import certain_changes
from tokverify.repair.fix.changed import changed_ids, unverified_ids
from tokverify.repair.fix.every_token import EveryToken
from tokverify.repair.fix.measure import AROUND, BYTES, CASES, DECODING, TEMPLATE, TYPES, Measure, Measuring
from tokverify.repair.fix.pruning import prune
from tokverify.repair.piece_change import texts_by_bytes
from tokverify.repair.probed_type_change import extended_by_probing, probed_types
from tokverify.repair.search import DiagnosisResult, diagnose
from tokverify.repair.setting_change import affix_flags
from tokverify.sources.gguf.declaration import Declaration
from tokverify.sources.gguf.keys import CHAT_TEMPLATE
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec
from tokverify.text.sequence import thin_out
from tokverify.texts.target_text import general_cases, is_generated, target_cases

_ROUNDS = 6
"""At most this many faults are repaired one after the other."""
_QUICKLY_TRIED = 200
"""Of so many changed tokens, texts are made for a quick search."""
_FEW = 0.1
_FEW_DECODED = 0.02
_VERIFICATIONS = 4
"""How many times texts are made for tokens that a repair changes, each time for those that are still unverified."""


class RepairSearch:
    """Searches for a repair.

    `measuring` gets the texts that it makes. A quick one leaves out the texts of every token.
    """

    def __init__(  # noqa: PLR0913 - the optional ones are keywords
        self,
        declaration: Declaration,
        facts: Opened,
        measuring: Measuring,
        encodings: int,
        diagnosed: DiagnosisResult | None = None,
        *,
        is_quick: bool = False,
    ) -> None:
        self._declaration = declaration
        self._spec = declaration.spec
        self._facts = facts
        self._measuring = measuring
        self._is_quick = is_quick
        self._every_token: EveryToken | None = None
        if facts.tokenizer and not is_quick:
            self._every_token = EveryToken(facts.tokenizer, facts.spec, measuring.token_list.bytes_of)
        self._rejected: set[str] = set()
        self._was_loaded = self._add_first_cases()
        self.candidates = Candidates(facts, measuring, encodings, diagnosed)
        self.parts: list[TokenizerChange] = []
        """The changes found so far."""
        self.current = self._spec
        """The tokenizer with these changes."""
        self.before = self.measure = measuring.measure(self._spec)
        """How the original differs from the reference, and how `current` does."""

    def _add_first_cases(self) -> bool:
        """Add the texts that need no change, and return whether our side can be loaded."""
        measure = self._measuring.measure(self._spec)
        encoder = measure.encoder
        if damage := list(find_damage(encoder, self._facts)) if encoder else []:
            raise TokverifyError(f"not repaired: {explain_blame(damage)}")
        self._measuring.add_cases(general_cases(encoder, self._facts.tokenizer))
        if 2 * measure.compared[CASES] <= len(measure.results):
            # Where most cases fail, further texts show nothing before a change is made.
            self._measuring.add_cases(self._differing_tokens(encoder))
        return encoder is not None

    def run(self) -> None:
        """Take changes until no difference is left or nothing helps; then leave out those that are not necessary."""
        while self._goes_on() and (found := self._next_change()):
            self._take(*found)
        if self.parts:
            self.parts = self._completed(prune(self._measuring, self._spec, self.parts, self._facts.tokenizer))
            self.current = reduce(TokenizerChange.then, self.parts).transform(self._spec)
            self.measure = self._measure_unverified()
            self.before = self._measuring.measure(self._spec, exactly=True)
        if self.parts and not self._facts.lists_all_roles and self.measure.differs_in_minor_roles_at_most(self.before):
            # A file is not written anew for a role that nothing uses, such as padding.
            self.parts, self.current, self.measure = [], self._spec, self.before

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
        # The one that was measured, not an equal one: only it shares its arrays, and so its tables, with the encoder.
        self.current = measure.encoder.spec if measure.encoder else change.transform(previous)
        self.measure = measure
        is_measured = not self._measuring.add_cases(self._changed_token_cases())
        self.measure = self._measuring.measure(self.current, exactly=True)
        if is_measured:
            return
        self.before = self._measuring.measure(self._spec)
        last = self.before if previous is self._spec else self._measuring.measure(previous)
        if self.measure.total > last.total:
            self._rejected.add(self.parts.pop().sentence)
            self.current, self.measure = previous, last

    def _changed_token_cases(self) -> list[Case]:
        changed: Sequence[int] = changed_ids(self._spec, self.current)
        if self._is_quick:
            changed = thin_out(changed, _QUICKLY_TRIED)
        cases = target_cases(changed, self.measure.encoder, self._facts.tokenizer)
        if not self._was_loaded:
            # Only now is it known which texts our side matches.
            cases += general_cases(self.measure.encoder, self._facts.tokenizer)
        return [*cases, *self._differing_tokens(self.measure.encoder)]

    def _differing_tokens(self, encoder: Encoder | None) -> list[Case]:
        return self._every_token.differing_cases(encoder) if self._every_token and encoder else []

    def _measure_unverified(self) -> Measure:
        """Measure a repair that finds no difference also by texts for the tokens that nothing has verified so far."""
        measure = self._measuring.measure(self.current, exactly=True)
        for _ in range(_VERIFICATIONS):
            ids = unverified_ids(self._spec, self.current, self._facts, measure) if measure.is_clean else []
            if not self._measuring.add_cases(target_cases(ids, measure.encoder, self._facts.tokenizer)):
                break
            measure = self._measuring.measure(self.current, exactly=True)
        return measure

    def _completed(self, parts: list[TokenizerChange]) -> list[TokenizerChange]:
        """Add padding if the parts change the number of tokens and leave embeddings without one."""
        size = len(reduce(TokenizerChange.then, parts).transform(self._spec).tokens)
        rows = self._declaration.spec.embedding_rows or 0
        return [*parts, padding(size, rows)] if size != len(self._spec.tokens) and size < rows else parts


class Candidates:
    """Generates the changes to try for one reference, and keeps the first diagnosis."""

    def __init__(
        self, facts: Opened, measuring: Measuring, encodings: int, diagnosed: DiagnosisResult | None = None
    ) -> None:
        self._known = diagnosed
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
        """Whether cases, nearly all of them, decode differently because of what only the reference's decoder does.

        A few have another token beside that, such as an added one, and `run` fails for none.
        """
        if not measure.compared[DECODING] or self.blame(measure):
            return True
        agreeing = [result for result in measure.results if not is_generated(result.case) and not result.fails]
        # A verdict must not depend on what the repair has spent.
        budget = Budget(self._encodings)
        found = diagnose(spec, self._facts, agreeing, encoder=measure.encoder, budget=budget)
        best = found.diagnosis.explanations[0] if found and found.changes else None
        return best is not None and not best.expressible and len(best.unexplained) <= _FEW_DECODED * best.failing

    def blame(self, measure: Measure) -> str:
        """Say that cases decode differently because the reference is at fault; empty if it is not."""
        differs = bool(measure.compared[DECODING]) and measure.encoder is not None
        return find_broken_decoder(measure.encoder, self._facts) if differs and measure.encoder else ""

    def _all_changes(self, spec: TokenizerSpec, measure: Measure) -> Iterator[TokenizerChange]:
        yield from self._diagnosed(spec, measure, generated=False)
        yield from certain_changes(spec, measure.encoder, self._facts)
        yield from self._diagnosed(spec, measure, generated=True)
        declared = declared_changes(spec, measure.encoder, self._facts)
        yield from declared
        if len(declared) > 1:
            yield reduce(TokenizerChange.then, declared)
        # What a diagnosis leaves out, because GGUF cannot express all that is added on the other side.
        if measure.compared[AROUND] and measure.encoder:
            yield from affix_flags(Evidence(spec, measure.encoder, self._facts, ()))
        # What no case shows.
        if measure.compared[BYTES] and measure.encoder:
            yield from texts_by_bytes(Evidence(spec, measure.encoder, self._facts, ()))
        if measure.compared[TYPES] and measure.encoder:
            yield from probed_types(Evidence(spec, measure.encoder, self._facts, ()))
        if measure.compared[TEMPLATE]:
            yield _set_templates(spec, self._facts.chat_templates)

    def _diagnosed(self, spec: TokenizerSpec, measure: Measure, *, generated: bool) -> Iterator[TokenizerChange]:
        """Yield what a diagnosis of the cases names; with `generated`, also of the generated ones."""
        result, self._known = self._known, None
        if result is None:
            results = [result for result in measure.results if generated or not is_generated(result.case)]
            budget = self._measuring.budget.part(self._encodings)
            result = diagnose(spec, self._facts, results, encoder=measure.encoder, budget=budget)
        if result is None:
            return
        if self.diagnosis is None or not self.diagnosis.changes:
            self.diagnosis = result
        pairs = zip(result.changes, result.diagnosis.explanations, strict=True)
        # A name that explains hardly any text is a little nearer than that of the file, and not the right one.
        likely = [
            change
            for change, each in pairs
            if change.kind != "pre" or each.failing - len(each.unexplained) > _FEW * each.failing
        ]
        for change in sorted(likely, key=lambda change: not change.expressible):
            are_types = {step.kind for step in change.steps} == {"types"}
            if are_types and (extended := extended_by_probing(change, spec, self._facts)):
                yield extended
            yield change


def _set_templates(spec: TokenizerSpec, templates: Mapping[str, str]) -> TokenizerChange:
    """Return the change that takes the default chat template of a reference, and those that both sides name."""
    wanted = {key: theirs for key, ours, theirs in paired_templates(spec, templates) if ours != theirs}
    template = wanted.get(CHAT_TEMPLATE, spec.chat_template)
    named = {name: wanted.get(f"{CHAT_TEMPLATE}.{name}", text) for name, text in spec.named_chat_templates.items()}
    return TokenizerChange(
        kind="chat_template",
        sentence=f"using the reference's chat template{'s' if len(wanted) > 1 else ''} ({', '.join(wanted)})",
        cost=1.0,
        transform=lambda spec: replace(spec, chat_template=template, named_chat_templates=named),
    )
