"""Write a copy of a GGUF file whose tokenizer agrees with its reference, and verify it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.diagnosis import diagnose
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.files.gguf.cursor import ValueType
from tokverify.files.gguf.declaration import read_spec
from tokverify.files.gguf.keys import SPLIT_COUNT, VOCAB_SIZE
from tokverify.files.gguf.metadata import Value, read_metadata
from tokverify.files.gguf.patch import write_patched
from tokverify.files.gguf.values import changed_values
from tokverify.report.fix import FileRepair, FixReport, Verification
from tokverify.report.run import CaseResult, Status
from tokverify.report.run_summary import count_decode_differences, count_status
from tokverify.system.output_file import move_into_place, temporary_beside
from tokverify.verify.comparison import verify_tokenizers
from tokverify.verify.mode import Mode, Modes

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.diagnosis import DiagnosisResult, Facts, TokenizerChange
    from tokverify.files.gguf.declaration import Declaration
    from tokverify.report.diagnosis import Diagnosis
    from tokverify.report.run import Report
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Plan:
    """The problem with a file, and the changes that repair it."""

    before: Verification
    """The verification of the original file."""
    diagnosis: Diagnosis | None
    """The diagnosis of the original file."""
    change: TokenizerChange | None
    """The repair; None if nothing needs or can be repaired.

    It includes repairs of the decoding, which show only once the ids are right.
    """
    values: Mapping[str, Value | None]
    """The metadata to write, by key; None removes a key."""


def to_report(plan: Plan, after: Verification | None = None) -> FixReport:
    """Return the report of a plan, and of the file that was written by it."""
    change = plan.change
    repair = FileRepair(change.sentence, tuple(plan.values), change.gguf_command) if change else None
    return FixReport(plan.before, plan.diagnosis, repair, after)


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


def make_plan(model: Path, declaration: Declaration, facts: Facts, cases: Sequence[Case]) -> Plan:
    """Verify a file, and find the change that repairs it."""
    spec = declaration.spec
    encoder, refusal = _load_encoder(declaration, model.stem)
    if encoder is None:
        modes = Modes(facts.expected) if facts.expected else Modes()
        results = [_error_result(case, modes, refusal) for case in cases]
        before = Verification(0, len(cases), refusal=refusal)
    else:
        report = verify_tokenizers(encoder, facts.expected, cases)
        results, before = list(report.results), count_results(report)
    result = diagnose(spec, facts, results, encoder=encoder)
    diagnosis = result.diagnosis if result else None
    change = _choose_change(result, spec)
    if change and diagnosis and not diagnosis.decoding:
        change = _add_decoding_repair(change, spec, facts, cases)
    if change is None:
        return Plan(before, diagnosis, None, {})
    new = change.transform(spec)
    values = changed_values(spec, new) | _size_values(model, declaration, len(new.tokens))
    return Plan(before, diagnosis, change, values)


def _load_encoder(declaration: Declaration, name: str) -> tuple[Encoder | None, str]:
    try:
        if declaration.refusal:
            raise declaration.refusal
        return Encoder(declaration.spec, name=name), ""
    except TokverifyError as error:
        return None, str(error)


def _error_result(case: Case, modes: Modes, refusal: str) -> CaseResult:
    mode = modes.choose(case.text, Mode(case.add_special, case.parse_special))
    return CaseResult(case, Status.ERROR, message=refusal, **mode._asdict())


def count_results(report: Report) -> Verification:
    """Count the results of a report."""
    fail = count_status(report, Status.MISMATCH) + count_status(report, Status.ERROR)
    return Verification(count_status(report, Status.MATCH), fail, count_decode_differences(report))


def _choose_change(result: DiagnosisResult | None, spec: TokenizerSpec) -> TokenizerChange | None:
    """Return the best change that GGUF can express: a complete explanation or, failing that, a part of one."""
    changes = result.changes if result else ()
    whole = [change for change in changes if change.expressible]
    parts = [change.expressible_part() for change in changes if not change.expressible]
    return next((change for change in whole + parts if changed_values(spec, change.transform(spec))), None)


def _add_decoding_repair(
    change: TokenizerChange, spec: TokenizerSpec, facts: Facts, cases: Sequence[Case]
) -> TokenizerChange:
    """Add the change that repairs the decoding, if all ids are right with the first one."""
    encoder = change.encoder(spec)
    report = verify_tokenizers(encoder, facts.expected, cases)
    result = diagnose(encoder.spec, facts, report.results, encoder=encoder)
    more = _choose_change(result, encoder.spec) if result and result.diagnosis.decoding else None
    return change.then(more) if more else change


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


def write_fixed(model: Path, output: Path, plan: Plan, expected: Tokenizer, cases: Sequence[Case]) -> Verification:
    """Write the repaired file under a temporary name, verify it, and only then give it its name.

    Raises:
        TokverifyError: If it cannot be written, or is no better than the original.
    """
    with temporary_beside(output) as temporary:
        write_patched(model, temporary, plan.values, name=output)
        # Cases may refer to the model by this name in what they expect.
        fixed = Encoder(read_spec(temporary), model.stem)
        after = count_results(verify_tokenizers(fixed, expected, cases))
        if (after.fail, after.decoded_differently) >= (plan.before.fail, plan.before.decoded_differently):
            raise TokverifyError(
                f"{output}: not written: with the repair, {after.fail} cases fail and {after.decoded_differently} "
                "decode differently, which is no improvement"
            )
        move_into_place(temporary, output)
    return after
