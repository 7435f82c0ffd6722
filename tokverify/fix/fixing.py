"""Fixing: write a GGUF file again so that its tokenizer agrees with its reference, and prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.diagnosis import diagnose
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError, UnsupportedError
from tokverify.files.gguf.change import changed_values
from tokverify.files.gguf.cursor import ValueType
from tokverify.files.gguf.declaration import SPLIT_COUNT, VOCAB_SIZE, read_declaration, read_spec
from tokverify.files.gguf.metadata import Value, read_metadata
from tokverify.files.gguf.patch import write_patched
from tokverify.report.run import CaseResult, Status
from tokverify.system.output_file import put_in_place, temporary_beside
from tokverify.verify.comparison import verify_tokenizers

if TYPE_CHECKING:
    from tokverify.cases.case import Case
    from tokverify.diagnosis import DiagnosisResult, Facts, TokenizerChange
    from tokverify.files.gguf.declaration import Declaration
    from tokverify.report.diagnosis import Diagnosis
    from tokverify.report.run import Report
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Verification:
    """How many cases match and fail, and how many decode differently, matching or not.

    `refusal` says why there is no tokenizer to verify at all.
    """

    match: int
    fail: int
    decoded_differently: int = 0
    refusal: str | None = None

    def is_better_than(self, other: Verification) -> bool:
        """Whether fewer cases fail, or as many and fewer decode differently."""
        return (self.fail, self.decoded_differently) < (other.fail, other.decoded_differently)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wrong with a file and what can be written to repair it.

    `diagnosis` is that of the file as it is. `change` is None where nothing is to be repaired or nothing can be
    written; with it are repairs of the decoding, which can be seen only once the ids are right.
    """

    before: Verification
    diagnosis: Diagnosis | None
    change: TokenizerChange | None
    values: Mapping[str, Value | None]

    @property
    def keys(self) -> tuple[str, ...]:
        """The metadata keys that are written."""
        return tuple(self.values)


def read_fixable(model: Path) -> Declaration:
    """Read what a file declares, even where it contradicts itself.

    Raises:
        UnsupportedError: If it is one file of several.
        TokverifyError: As `read_declaration` does.
    """
    count = read_metadata(model, SPLIT_COUNT.__eq__).get(SPLIT_COUNT)
    if count is not None and isinstance(count.data, int) and count.data > 1:
        raise UnsupportedError(
            f"{model}: {SPLIT_COUNT} is {count.data}: a split model, which cannot be written again in part; "
            "merge its files with llama-gguf-split first"
        )
    return read_declaration(model)


def make_plan(model: Path, declaration: Declaration, facts: Facts, cases: Sequence[Case]) -> Plan:
    """Verify a file, and find the change to write."""
    encoder, refusal = _encoder(declaration, model.stem)
    if encoder is None:
        results = [_refused(case, facts.expected, refusal) for case in cases]
        before = Verification(0, len(cases), refusal=refusal)
    else:
        report = verify_tokenizers(encoder, facts.expected, cases)
        results, before = list(report.results), verification(report)
    spec = declaration.spec
    result = diagnose(spec, facts, results, encoder=encoder)
    diagnosis = result.diagnosis if result else None
    change = _writable(result, spec)
    if change and diagnosis and not diagnosis.decoding:
        change = _with_decoding(change, spec, facts, cases)
    if change is None:
        return Plan(before, diagnosis, None, {})
    new = change.transform(spec)
    values = changed_values(spec, new) | _new_size(model, declaration, len(new.tokens))
    return Plan(before, diagnosis, change, values)


def _encoder(declaration: Declaration, name: str) -> tuple[Encoder | None, str]:
    try:
        if declaration.refusal:
            raise declaration.refusal
        return Encoder(declaration.spec, name=name), ""
    except TokverifyError as error:
        return None, str(error)


def _refused(case: Case, expected: Tokenizer | None, refusal: str) -> CaseResult:
    return CaseResult(
        case,
        Status.ERROR,
        message=refusal,
        add_special=case.add_special and (expected is None or expected.adds_special),
        parse_special=case.parse_special and (expected is None or expected.parses_special),
    )


def verification(report: Report) -> Verification:
    """Count what a report says."""
    fail = report.count(Status.MISMATCH) + report.count(Status.ERROR)
    return Verification(report.count(Status.MATCH), fail, report.decode_differences)


def _writable(result: DiagnosisResult | None, spec: TokenizerSpec) -> TokenizerChange | None:
    """Return the best that can be written: a whole explanation, else what GGUF can say of another one."""
    changes = result.changes if result else ()
    whole = [change for change in changes if change.expressible]
    parts = [change.expressible_part() for change in changes if not change.expressible]
    return next((change for change in whole + parts if changed_values(spec, change.transform(spec))), None)


def _with_decoding(
    change: TokenizerChange, spec: TokenizerSpec, facts: Facts, cases: Sequence[Case]
) -> TokenizerChange:
    """Add to a change what repairs the decoding, if all ids are right with it."""
    encoder = change.encoder(spec)
    report = verify_tokenizers(encoder, facts.expected, cases)
    result = diagnose(encoder.spec, facts, report.results, encoder=encoder)
    more = _writable(result, encoder.spec) if result and result.diagnosis.decoding else None
    return change.then(more) if more else change


def _new_size(model: Path, declaration: Declaration, size: int) -> dict[str, Value | None]:
    """Return what else has to change with the number of tokens."""
    old = len(declaration.spec.tokens)
    if size == old:
        return {}
    if declaration.embedding_rows not in {None, size}:
        raise UnsupportedError(
            f"{model}: the repair has {size} tokens, and the model's embeddings {declaration.embedding_rows}; "
            "convert the model again"
        )
    if declaration.vocab_size in {None, size}:
        return {}
    architecture = declaration.spec.general.get("architecture", "")
    return {f"{architecture}.{VOCAB_SIZE}": Value(ValueType.UINT32, size)}


def write_fixed(model: Path, output: Path, plan: Plan, expected: Tokenizer, cases: Sequence[Case]) -> Verification:
    """Write the repaired file, verify it, and only then give it its name; return what the verification says.

    Raises:
        TokverifyError: If it cannot be written, or is no better than before.
    """
    with temporary_beside(output) as temporary:
        write_patched(model, temporary, plan.values)
        # Under the name by which cases may expect something of the model.
        fixed = Encoder(read_spec(temporary), model.stem)
        after = verification(verify_tokenizers(fixed, expected, cases))
        if not after.is_better_than(plan.before):
            raise TokverifyError(
                f"{output}: not written: with the change {after.fail} cases fail and {after.decoded_differently} decode"
                " differently, no fewer than before"
            )
        put_in_place(temporary, output)
    return after
