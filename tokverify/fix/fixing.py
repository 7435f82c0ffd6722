"""Write a copy of a GGUF file whose tokenizer agrees with its reference, and verify it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.diagnosis import TokenizerChange
from tokverify.diagnosis.added_token_change import padding
from tokverify.diagnosis.budget import ENCODINGS, Budget
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.files.gguf.cursor import ValueType
from tokverify.files.gguf.declaration import read_spec
from tokverify.files.gguf.keys import SPLIT_COUNT, VOCAB_SIZE
from tokverify.files.gguf.metadata import Value, read_metadata
from tokverify.files.gguf.patch import write_patched
from tokverify.files.gguf.values import changed_values
from tokverify.fix.candidate import Candidates
from tokverify.fix.changed import changed_ids, type_ranges, unverified_ids
from tokverify.fix.every_token import EveryToken
from tokverify.fix.left_out import explain_left_out
from tokverify.fix.measure import Measuring, to_checks
from tokverify.fix.pruning import prune
from tokverify.fix.target_text import general_cases, target_cases
from tokverify.report.fix import FileRepair, FixReport
from tokverify.system.output_file import move_into_place, temporary_beside

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.diagnosis import Facts
    from tokverify.engine.encoder import Encoder
    from tokverify.files.gguf.declaration import Declaration
    from tokverify.fix.measure import Measure
    from tokverify.report.diagnosis import Diagnosis
    from tokverify.spec import TokenizerSpec

_ROUNDS = 6
"""At most this many faults are repaired one after the other."""
_DIAGNOSES = 3
"""A repair may encode as many texts as this many diagnoses; those of the tables of faults need a third of that."""
_VERIFICATIONS = 4
"""How many times texts are made for tokens that a repair changes, each time for those that are still unverified."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The problem with a file, and the changes that repair it."""

    measuring: Measuring
    """Compares tokenizers with the reference, by everything that the plan has looked at."""
    before: Measure
    """How the original file differs from the reference."""
    after: Measure
    """How the repaired file should."""
    diagnosis: Diagnosis | None
    """The diagnosis of the original file."""
    change: TokenizerChange | None
    """The repair; None if nothing needs or can be repaired."""
    values: Mapping[str, Value | None]
    """The metadata to write, by key; None removes a key."""
    repair: FileRepair | None
    """The repair in words."""
    stopped_early: bool
    """Whether differences are left, and the budget was spent before everything was tried."""


def to_report(plan: Plan, *, is_written: bool = False) -> FixReport:
    """Return the report of a plan, and of the file that was written by it."""
    return FixReport(
        plan.before.verification(),
        plan.diagnosis,
        plan.repair,
        plan.after.verification() if is_written else None,
        to_checks(plan.before, plan.after),
        plan.measuring.token_list.not_compared,
        stopped_early=plan.stopped_early,
    )


def require_fixable(model: Path) -> None:
    """Check that a file is not one of several that make up a model.

    Raises:
        UnsupportedError: If it is.
        TokverifyError: If it cannot be read.
    """
    count = read_metadata(model, SPLIT_COUNT.__eq__).get(SPLIT_COUNT)
    if count is not None and isinstance(count.data, int) and count.data > 1:
        raise UnsupportedError(
            f"{model}: is one of the {count.data} files of a split model ({SPLIT_COUNT}), which cannot be repaired "
            "separately; merge them with llama-gguf-split first"
        )


def make_plan(
    model: Path, declaration: Declaration, facts: Facts, cases: Sequence[Case], *, encodings: int = ENCODINGS
) -> Plan:
    """Verify a file, and repair one fault after the other until none is left or nothing helps."""
    spec = declaration.spec
    budget = Budget(_DIAGNOSES * encodings)
    measuring = Measuring(declaration, model.stem, facts, cases, budget)
    first = measuring.measure(spec)
    measuring.add_cases(general_cases(first.encoder, facts.expected))
    every_token = EveryToken(facts.expected, facts.spec) if facts.expected else None
    measuring.add_cases(_differing_tokens(every_token, first.encoder))
    candidates = Candidates(facts, measuring, encodings)
    before = measure = measuring.measure(spec)
    parts: list[TokenizerChange] = []
    rejected: set[str] = set()
    current = spec
    while not measure.is_clean and len(parts) + len(rejected) < _ROUNDS and not (parts and budget.is_spent):
        found = _next_change(candidates, measuring, current, measure, rejected)
        if found is None:
            break
        change, measure = found
        parts.append(change)
        previous, current = current, change.transform(current)
        targets = target_cases(changed_ids(spec, current), measure.encoder, facts.expected)
        if first.encoder is None:
            # Only now is it known which texts our side matches.
            targets += general_cases(measure.encoder, facts.expected)
        if measuring.add_cases([*targets, *_differing_tokens(every_token, measure.encoder)]):
            before, measure = measuring.measure(spec), measuring.measure(current)
            last = before if previous is spec else measuring.measure(previous)
            if measure.total > last.total:
                # The texts that were made for its tokens show that the change does more harm than good.
                rejected.add(parts.pop().sentence)
                current, measure = previous, last
    if parts:
        parts = _complete(prune(measuring, spec, parts, facts.expected), declaration)
        current = reduce(TokenizerChange.then, parts).transform(spec)
        measure = _measure_unverified(measuring, spec, current, facts)
        before = measuring.measure(spec)
    stopped_early = budget.is_spent and not measure.is_clean
    if not candidates.is_foreign_decoding(current, measure):
        measure = measure.requiring_decoding()
    result = candidates.diagnosis
    diagnosis = result.diagnosis if result else None
    if not parts:
        return Plan(measuring, measure, measure, diagnosis, None, {}, None, stopped_early)
    change = reduce(TokenizerChange.then, parts)
    values = changed_values(spec, current) | _size_values(model, declaration, len(current.tokens))
    repair = FileRepair(
        change.sentence,
        tuple(values),
        change.gguf_command,
        change.kind,
        changed_tokens=len(changed_ids(spec, current)),
        inferred_tokens=len(unverified_ids(spec, current, facts, measure)),
        types=type_ranges(spec, current),
        left_out=tuple(explain_left_out(result, parts, measuring, current, measure)),
    )
    return Plan(measuring, before, measure, diagnosis, change, values, repair, stopped_early)


def _differing_tokens(every_token: EveryToken | None, encoder: Encoder | None) -> list[Case]:
    return every_token.differing_cases(encoder) if every_token and encoder else []


def _measure_unverified(measuring: Measuring, spec: TokenizerSpec, current: TokenizerSpec, facts: Facts) -> Measure:
    """Measure a repair that finds no difference also by texts for the tokens that nothing has verified so far."""
    measure = measuring.measure(current)
    for _ in range(_VERIFICATIONS):
        unverified = unverified_ids(spec, current, facts, measure) if measure.is_clean else []
        if not measuring.add_cases(target_cases(unverified, measure.encoder, facts.expected)):
            break
        measure = measuring.measure(current)
    return measure


def _next_change(
    candidates: Candidates, measuring: Measuring, spec: TokenizerSpec, measure: Measure, rejected: Collection[str]
) -> tuple[TokenizerChange, Measure] | None:
    """Return the first change that makes the tokenizer better in one way and worse in none, and its measure.

    Those with a sentence in `rejected` are left out.
    """
    for change in candidates.changes(spec, measure):
        if change.sentence in rejected:
            continue
        found = measuring.measure(change.transform(spec))
        if found.improves(measure):
            return change, found
        if measuring.budget.is_spent:
            break
    return None


def _complete(parts: Sequence[TokenizerChange], declaration: Declaration) -> list[TokenizerChange]:
    """Return the parts, and padding if they change the number of tokens and leave embeddings without one."""
    size = len(reduce(TokenizerChange.then, parts).transform(declaration.spec).tokens)
    rows = declaration.embedding_rows or 0
    if size != len(declaration.spec.tokens) and size < rows:
        return [*parts, padding(size, rows)]
    return list(parts)


def _size_values(model: Path, declaration: Declaration, size: int) -> dict[str, Value | None]:
    """Return the other metadata that changes with the number of tokens."""
    old = len(declaration.spec.tokens)
    if size == old:
        return {}
    if declaration.embedding_rows not in {None, size}:
        raise UnsupportedError(
            f"{model}: the repair needs {size} tokens, but the model has {declaration.embedding_rows} embeddings; "
            "convert the model again"
        )
    if declaration.vocab_size in {None, size}:
        return {}
    architecture = declaration.spec.general.get("architecture", "")
    return {f"{architecture}.{VOCAB_SIZE}": Value(ValueType.UINT32, size)}


def write_fixed(model: Path, output: Path, plan: Plan) -> None:
    """Write the repaired file under a temporary name, verify it, and only then give it its name.

    Raises:
        TokverifyError: If it cannot be written, or differs from the reference in another way than planned.
    """
    with temporary_beside(output) as temporary:
        write_patched(model, temporary, plan.values, name=output)
        written = plan.measuring.measure(read_spec(temporary))
        if written.counts != plan.after.counts:
            raise TokverifyError(
                f"{output}: not written: the file on disk does not behave as planned; this is a bug in tokverify"
            )
        move_into_place(temporary, output)
