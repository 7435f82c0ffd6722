"""Try a new fault as a user would: repair the file with `tokverify fix`, and ask llama.cpp whether it is repaired."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.bare_tokenizer import Bare
from support.judge import judge
from support.mutation import FOLDER, Mutation
from support.mutation_trial import cases, explains_all, intact, names, new_findings, write_mutant
from support.real_data import REAL
from tokverify.commands.tasks.fix import fix_model
from tokverify.compare.opened import OpenedReference
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError
from tokverify.references import FoundReference, open_reference
from tokverify.report.diagnosis import Explanation
from tokverify.report.fix import FixReport, fix_exit_code
from tokverify.sources.gguf.declaration import read_spec

_SHOWN_BY_IDS = ("refused", "encoding", "decoding", "size")


@dataclass(frozen=True)
class Trial:
    """What became of a fault."""

    mutation: Mutation
    report: FixReport | None
    """None if `fix` ended with an error."""
    error: str
    """Its message."""
    audit: Sequence[str]
    """The codes of the rules that report the fault."""
    differences: Sequence[str]
    """In what the file that `fix` leaves, repaired or not, differs from the intact one.

    A reference that returns only ids cannot show more than how texts are encoded, and ids decoded.
    """

    @property
    def best(self) -> Explanation | None:
        diagnosis = self.report.diagnosis if self.report else None
        return diagnosis.explanations[0] if diagnosis and diagnosis.explanations else None

    @property
    def found(self) -> bool:
        if self.audit or self.error or self.report is None or self.report.repair:
            return True
        before, checks = self.report.before, self.report.checks
        return bool(
            before.fail or before.decoded_differently or any(each.before for each in checks if each.is_required)
        )

    @property
    def named(self) -> bool:
        repair = self.report.repair if self.report else None
        by_repair = repair is not None and set(repair.kind.split("+")) <= set(self.mutation.kinds)
        return by_repair if self.best is None else names(self.mutation, self.best) and explains_all(self.best)

    @property
    def repaired(self) -> bool:
        return not self.differences

    @property
    def claimed(self) -> bool:
        """Whether `fix` reports success."""
        return self.report is not None and fix_exit_code(self.report) == 0

    @property
    def is_false(self) -> bool:
        """Whether `fix` reports success although the file is still wrong."""
        return self.claimed and not self.repaired


def reference_of(mutation: Mutation, *, bare: bool) -> OpenedReference:
    """Open the vocabulary's own reference, by default llama.cpp with the intact file; or one that returns only ids."""
    path = intact(mutation.vocabulary)
    if bare:
        return OpenedReference(FoundReference(Bare(Encoder(read_spec(path), "intact")), source="ids"))
    location: Path | str = f"llama.cpp:{path}"
    if mutation.reference:
        is_folder = mutation.reference == FOLDER
        location = REAL / mutation.vocabulary if is_folder else path.with_name(mutation.vocabulary + mutation.reference)
    return OpenedReference(open_reference(location))


def try_fault(mutation: Mutation, directory: Path, *, bare: bool) -> Trial:
    """Write the faulty file to a directory, repair it, and judge the result."""
    path, fixed = directory / "mutant.gguf", directory / "fixed.gguf"
    for old in (path, fixed):
        old.unlink(missing_ok=True)
    write_mutant(mutation, path)
    report, error = None, ""
    try:
        report = fix_model(path, fixed, reference_of(mutation, bare=bare), cases())
    except TokverifyError as problem:
        error = str(problem)
    left = fixed if fixed.exists() else path
    differences = judge(left, intact(mutation.vocabulary))
    if bare:
        differences = [difference for difference in differences if difference.startswith(_SHOWN_BY_IDS)]
    return Trial(mutation, report, error, new_findings(path, mutation.vocabulary), differences)
