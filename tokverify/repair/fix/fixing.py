"""Write a copy of a GGUF file whose tokenizer agrees with its reference, and verify it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from tokverify.case import Case
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.engine.requirement import describe_needs
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.repair.budget import ENCODINGS, Budget
from tokverify.repair.change import TokenizerChange
from tokverify.repair.fix.certain import certain_changes
from tokverify.repair.fix.changed import changed_ids, type_ranges, unverified_ids
from tokverify.repair.fix.measure import CASES, DECODING, Measure, Measuring, to_checks
from tokverify.repair.fix.repair_search import RepairSearch
from tokverify.repair.search import DiagnosisResult
from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fix import FileRepair, FixReport
from tokverify.report.vocabulary_difference import NEARLY_ALL
from tokverify.sources.gguf.cursor import ValueType
from tokverify.sources.gguf.declaration import Declaration, read_spec
from tokverify.sources.gguf.keys import SPLIT_COUNT, VOCAB_SIZE
from tokverify.sources.gguf.metadata import Value, read_metadata
from tokverify.sources.gguf.patch import write_patched
from tokverify.sources.gguf.values import changed_values
from tokverify.spec import TokenizerSpec
from tokverify.system.output_file import move_into_place, temporary_beside
from tokverify.text.wording import list_items
from tokverify.tokenizer import why_hidden

_DIAGNOSES = 3
"""A repair may encode as many texts as this many diagnoses; those of the tables of faults need a third of that."""
_MANY = 100
"""So many texts tell another model from a fault of which only a part is repaired."""


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
    blame: str
    """Why the reference is at fault where ids decode differently; empty if it is not."""


def to_report(plan: Plan, *, is_written: bool = False) -> FixReport:
    """Return the report of a plan, and of the file that was written by it."""
    left = plan.after if is_written or plan.change is None else plan.before
    errors = plan.measuring.unconfirmed_errors(left.encoder.spec) if left.encoder else []
    return FixReport(
        plan.before.verification(),
        plan.diagnosis,
        plan.repair,
        plan.after.verification() if is_written else None,
        to_checks(plan.before, plan.after),
        plan.measuring.token_list.not_compared(left.encoder),
        stopped_early=plan.stopped_early,
        blame=plan.blame,
        limits=plan.measuring.limits_of(left),
        errors=tuple(f"{error.message} ({error.code})" for error in errors),
        needs=describe_needs(left.encoder.spec) if left.encoder else "",
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


def make_plan(  # noqa: PLR0913 - the optional ones are keywords
    model: Path,
    declaration: Declaration,
    facts: Opened,
    cases: Sequence[Case],
    *,
    encoder: Encoder | None = None,
    encodings: int = ENCODINGS,
    diagnosed: DiagnosisResult | None = None,
    is_quick: bool = False,
) -> Plan:
    """Verify a file, and repair one fault after the other until none is left or nothing helps.

    `encodings` limits how many texts a diagnosis may encode, approximately; `diagnosed` is the first, if it was made
    already. A quick plan leaves out the texts of every token, and measures few candidates of a large vocabulary.
    """
    budget = Budget(_DIAGNOSES * encodings)
    measuring = Measuring(declaration, model.stem, facts, cases, budget, encoder=encoder, is_quick=is_quick)
    search = RepairSearch(declaration, facts, measuring, encodings, diagnosed, is_quick=is_quick)
    search.run()
    stopped_early = measuring.budget.is_spent and not search.measure.is_clean
    after = search.measure
    if search.parts and (doubt := _doubt_ids(declaration.spec, search, facts)):
        raise TokverifyError(f"{model}: not repaired: {doubt}")
    blame = search.candidates.blame(after)
    result = search.candidates.diagnosis
    if facts.tokenizer is None or not facts.tokenizer.decodes_as_llama_cpp:
        before = search.before.compared
        # What is repaired is no way of a library, if nothing but the decoding differed.
        is_repaired = bool(search.parts and before[DECODING] and not before[CASES]) and not after.compared[DECODING]
        is_foreign = not is_repaired and search.candidates.is_foreign_decoding(search.current, after)
        after = after.judging_decoding(is_required=not is_foreign)
        if is_foreign and search.parts and result and not any(change.expressible for change in result.changes):
            # The way in which a library decodes is no cause of what is repaired.
            result = None if result.diagnosis.decoding else result
    diagnosis = result.diagnosis if result else None
    # A file that `run` passes is not to be doubted because a role of no consequence was added to it.
    if not search.parts or search.before.differs_in_flags_at_most:
        after = after.trusting_flags()
    if not search.parts:
        return Plan(measuring, after, after, diagnosis, None, {}, None, stopped_early, blame)
    change = reduce(TokenizerChange.then, search.parts)
    # What llama.cpp refuses is left out, unless it is written anew.
    values = changed_values(declaration.spec, replace(search.current, mistyped_keys={}))
    values |= _size_values(model, declaration, len(search.current.tokens))
    left_out = explain_left_out(result, search.parts, measuring, search.current, after)
    repair = FileRepair(
        change.sentence,
        tuple(values),
        change.gguf_command,
        change.kind,
        changed_tokens=len(changed_ids(declaration.spec, search.current)),
        inferred_tokens=len(unverified_ids(declaration.spec, search.current, facts, after)),
        types=type_ranges(declaration.spec, search.current),
        left_out=tuple(left_out),
    )
    return Plan(measuring, search.before, after, diagnosis, change, values, repair, stopped_early, blame)


def _doubt_ids(spec: TokenizerSpec, search: RepairSearch, facts: Opened) -> str:
    """Say that ids alone show another cause, as a repair leaves nearly all texts or differences; empty if not.

    Among thousands of changes, some make a few texts match, whatever the two vocabularies are.
    """
    before, after = search.before, search.measure
    failing, total = sum(result.fails for result in after.results), len(after.results)
    if facts.tokenizer is None or not why_hidden(facts.tokenizer) or total < _MANY:
        return ""
    shows = f"the reference ({facts.name}) shows only ids, and after the best repair"
    if failing >= NEARLY_ALL * total:
        return (
            f"{shows} they still differ in {failing:,} of {total:,} texts, as those of another model do; name the right"
            " one with -r, or one that lists its tokens"
        )
    is_little = before.total >= _MANY and after.total > NEARLY_ALL * before.total
    if is_little and not (_explains_all(search) or _is_certain(spec, search, facts)):
        return (
            f"{shows} {after.total:,} of {before.total:,} differences are left, so something else causes them; name a"
            " reference with -r that lists its tokens"
        )
    return ""


def _explains_all(search: RepairSearch) -> bool:
    """Whether the diagnosis explains all texts, be it with a part that GGUF cannot express."""
    result = search.candidates.diagnosis
    return result is not None and any(not each.unexplained for each in result.diagnosis.explanations[:1])


def _is_certain(spec: TokenizerSpec, search: RepairSearch, facts: Opened) -> bool:
    certain = {change.sentence for change in certain_changes(spec, search.before.encoder, facts)}
    return all(part.sentence in certain for part in search.parts)


def _size_values(model: Path, declaration: Declaration, size: int) -> dict[str, Value | None]:
    """Return the other metadata that changes with the number of tokens."""
    old = len(declaration.spec.tokens)
    if size == old:
        return {}
    if declaration.spec.embedding_rows not in {None, size}:
        raise UnsupportedError(
            f"{model}: the repair needs {size:,} tokens, but the model has {declaration.spec.embedding_rows:,} "
            "embeddings, so the reference may be that of another version: name the model's own with -r, or convert the "
            "model again"
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
        written = plan.measuring.measure(read_spec(temporary), exactly=True)
        if written.counts != plan.after.counts:
            raise TokverifyError(
                f"{output}: not written: the file on disk does not behave as planned; this is a bug in tokverify"
            )
        move_into_place(temporary, output)


def explain_left_out(
    result: DiagnosisResult | None,
    parts: Sequence[TokenizerChange],
    measuring: Measuring,
    repaired: TokenizerSpec,
    measure: Measure,
) -> Iterator[str]:
    """Yield, for each change of the best explanation that is not part of a repair, the change and the reason."""
    if result is None or not result.changes:
        return
    kept = {step.sentence for part in parts for step in part.steps}
    for step in result.changes[0].steps:
        changed = step.transform(repaired)
        if step.expressible and step.sentence not in kept and changed_values(repaired, changed):
            yield f"{step.sentence}: {_reason(measuring.measure(changed), measure)}"


def _reason(changed: Measure, repaired: Measure) -> str:
    worse = [
        f"{name} ({changed.counts[name]:,}, not {count:,})"
        for name, count in repaired.counts.items()
        if changed.counts[name] > count
    ]
    return f"would add differences: {list_items(worse)}" if worse else "makes no difference after the repair"
