"""The report of `tokverify fix`: what is wrong with a file, what repairs it, and what proves that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tokverify.report.diagnosis import Diagnosis
from tokverify.report.fields import Count
from tokverify.report.run import AppliedLimit
from tokverify.report.run_check import check_diagnosis, check_gguf_command

FINDINGS = "static rules"
"""The name of the check for errors that the reference does not have."""
MINOR_ROLES = "special tokens that are not used in texts"
"""The name of the check for roles of no consequence, which may differ."""
UNCONFIRMED = "errors of static rules in what the reference does not declare"
"""The name of the check for errors that no comparison with the reference can confirm or refute."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The counts of a verification."""

    match: Count
    """How many cases match."""
    fail: Count
    """How many do not match or could not be encoded, and no limit explains why."""
    decoded_differently: Count = 0
    """How many decode differently, whether or not their ids match."""
    refusal: str | None = None
    """Why the file is refused, so that every case fails."""
    explained: Count = 0
    """How many do not match only because of limits."""


@dataclass(frozen=True, slots=True)
class FixCheck:
    """One way in which the file was compared with its reference."""

    name: str
    """What was compared, such as `generated texts`."""
    before: Count
    """How many differences there were."""
    after: Count
    """How many there are with the repair; without a repair, the same number."""
    is_required: bool = True
    """Whether success requires that there is none; False if the reference may legitimately do something else."""


@dataclass(frozen=True, slots=True)
class TypeRange:
    """Consecutive tokens that get the same type."""

    first: Count
    """The lowest id."""
    last: Count
    """The highest id."""
    type: Count
    """The value of `tokenizer.ggml.token_type`."""


@dataclass(frozen=True, slots=True)
class FileRepair:
    """The change that repairs a file."""

    sentence: str
    """What it does, as a gerund phrase."""
    keys: tuple[str, ...]
    """The metadata keys to write."""
    gguf_command: str | None = None
    """The command of the `gguf` package that does the same, where there is one; MODEL and FIXED stand for the files."""
    kind: str = ""
    """The kinds of its changes, joined with `+`, as in an explanation."""
    changed_tokens: Count = 0
    """How many tokens it gives another text, type or score."""
    inferred_tokens: Count = 0
    """How many of these follow from other tokens of the same kind, and were neither declared nor verified."""
    types: tuple[TypeRange, ...] = ()
    """The types that it changes, for people who want to set them with another program."""
    left_out: tuple[str, ...] = ()
    """Changes that the diagnosis names and that are not made, each with the reason."""


@dataclass(frozen=True, slots=True)
class OtherReference:
    """Another tokenizer at hand that contradicts the reference."""

    source: str
    """Where it is."""
    cases: Count
    """How many cases were compared."""
    disputed: Count
    """How many it encodes differently than the reference."""
    differing: Count
    """How many it encodes differently than the file that is left: the repaired one, if any."""


@dataclass(frozen=True, slots=True)
class FixReport:
    """The outcome of a repair."""

    before: Verification
    """The verification of the file as it is."""
    diagnosis: Diagnosis | None = None
    """The diagnosis of the file as it is."""
    repair: FileRepair | None = None
    """What to write; None if nothing needs or can be repaired."""
    after: Verification | None = None
    """The verification of the repaired file; None if none was written."""
    checks: tuple[FixCheck, ...] = ()
    """Everything that was compared besides the cases."""
    not_compared: tuple[str, ...] = ()
    """What the reference does not tell, so that a fault in it would go unnoticed."""
    others: tuple[OtherReference, ...] = ()
    """Other tokenizers, beside the model or its reference, that do not agree."""
    limits: tuple[AppliedLimit, ...] = ()
    """The limits that explain cases of the file that is left: the repaired one, if any."""
    errors: tuple[str, ...] = ()
    """The errors that rules find in what the reference does not declare, in the file that is left."""
    stopped_early: bool = False
    """Whether the limit was reached before everything was tried."""
    blame: str = ""
    """Why the reference is at fault where ids decode differently; empty if it is not."""
    is_thorough: bool = False
    """Whether that limit was the higher one of `--thorough`."""
    needs: str = ""
    """Which build of llama.cpp the file that is left needs; empty if any will do."""
    source: str = ""
    """The file to repair."""
    target: str = ""
    """The file to write; empty if none was named."""


def left_of(check: FixCheck, report: FixReport) -> int:
    """Return how many differences a check still finds in the file that is left: the repaired one, if any."""
    return check.before if report.after is None else check.after


def remaining(report: FixReport) -> tuple[FixCheck, ...]:
    """Return the required checks that still find differences in the file that is left."""
    return tuple(check for check in report.checks if check.is_required and left_of(check, report))


def fix_exit_code(report: FixReport) -> int:
    """Return 0 if all cases match in the end or limits explain them, and checks and rules find nothing else, else 1."""
    inferred = report.repair.inferred_tokens if report.repair and report.after else 0
    fails = (report.after or report.before).fail > 0
    return int(fails or bool(remaining(report)) or bool(report.errors) or inferred > 0)


def check_fix(report: FixReport, path: str) -> Iterator[str]:
    """Yield every command that people must not be invited to paste into a shell, as `path: problem`."""
    if report.diagnosis:
        yield from check_diagnosis(report.diagnosis, f"{path}.diagnosis")
    if report.repair:
        yield from check_gguf_command(report.repair.gguf_command, f"{path}.repair")
