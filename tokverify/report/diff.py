"""ChangeReport: the result of `tokverify diff`, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tokverify.report.consequence import Consequence, Level, consequences_exit_code
from tokverify.report.fields import Count
from tokverify.report.fuzz import INTERRUPTED, FuzzReport, Stop, check_fuzz
from tokverify.report.pairing import Pairing, pairing_exit_code
from tokverify.report.run import Report, Side, compares_nothing, has_failing_case, run_exit_code
from tokverify.report.run_check import check_run


@dataclass(frozen=True, slots=True)
class PartChange:
    """One change within a part of a tokenizer."""

    kind: str
    """`added`, `removed`, `changed`, `moved` or `reordered`."""
    what: str
    """What changed: a piece, a merge, or the name of a setting."""
    old: str | None
    """The old value in words; None where there was none."""
    new: str | None
    """The new value in words; None where there is none."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tokenizer that changed."""

    name: str
    """Such as `tokens` or `settings`."""
    changes: tuple[PartChange, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on a corpus."""

    lines: Count
    changed_lines: Count
    """Lines whose ids change."""
    bytes: Count
    changed_bytes: Count
    """Bytes of the lines whose ids change."""
    old_tokens: Count
    new_tokens: Count
    skipped_lines: Count = 0
    """Lines that one of the two does not support; the other counts are without them."""


@dataclass(frozen=True, slots=True)
class Example:
    """A case that changes, on behalf of all that change for the same cause."""

    index: Count
    """Its index in the results of the run."""
    others: tuple[str, ...]
    """The other cases, as suite/id."""
    parts: tuple[str, ...] = ()
    """The parts that are the cause, where that is known."""
    is_only: bool = False
    """Whether nothing else that ids depend on changed; otherwise, every place where the cases differ has a token that
    changed in each of the parts."""


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """Everything that changed from one version of a tokenizer to another."""

    parts: tuple[Part, ...]
    """The parts that changed."""
    report: Report
    """The run over the cases; the new version is the actual side, the old one the expected side."""
    fuzzed: FuzzReport | None = None
    """The fuzzing run, with the same sides; None if none was requested."""
    effect: Effect | None = None
    """The effect on a corpus; None without one."""
    not_compared: tuple[str, ...] = ()
    """Which parts could not be compared, and why."""
    behavior_only: bool = False
    """Whether changed parts are accepted as long as all texts get the same ids."""
    file: str = ""
    """The file of the new version, without a revision, or else that of the old one; empty if neither is a file."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""
    examples: tuple[Example, ...] = ()
    """One example per cause, the most frequent cause first."""
    consequences: tuple[Consequence, ...] = ()
    """What the change invalidates, one entry for each level."""
    breaking: tuple[Level, ...] = ()
    """The only levels that count as a difference; empty if every difference counts."""
    pairings: tuple[Pairing, ...] = ()
    """Whether the two can be used together, for each use that was asked for; only these count then."""


def old_side(report: ChangeReport) -> Side:
    """Return the version that is assumed to be right."""
    return report.report.expected


def new_side(report: ChangeReport) -> Side:
    """Return the version under test."""
    return report.report.actual


def count_kinds(part: Part) -> dict[str, int]:
    """Count the changes of a part by kind."""
    counts: dict[str, int] = {}
    for change in part.changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    return counts


def behaves_alike(report: ChangeReport) -> bool:
    """Check that no text was found that the two versions encode differently."""
    if has_failing_case(report.report) or (report.fuzzed and report.fuzzed.failing):
        return False
    return not (report.effect and report.effect.changed_lines)


def diff_exit_code(report: ChangeReport) -> int:
    """Return 0 if nothing changed, 1 if something did, 2 if no case or no line was compared.

    It is 2 as well if a side stopped answering, and 130 if Ctrl-C stopped the fuzzing.
    With `breaking` or uses of the pair, only these count, and 2 also means that one of them could not be compared.
    """
    if report.fuzzed and report.fuzzed.stop is Stop.INTERRUPTED:
        return INTERRUPTED
    if report.report.gone or (report.fuzzed and report.fuzzed.stop is Stop.GONE):
        return 2
    if report.breaking or report.pairings:
        # A run in which texts differ has the exit code 1, but here only the levels or the uses decide.
        ran = 2 if compares_nothing(report.report) else 0
        levels = consequences_exit_code(report.consequences, report.breaking)
        return levels or pairing_exit_code(report.pairings) or ran
    if not behaves_alike(report) or (report.parts and not report.behavior_only):
        return 1
    if report.effect and report.effect.skipped_lines and not report.effect.lines:
        return 2
    return run_exit_code(report.report)


def summarize_diff(report: ChangeReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": diff_exit_code(report),
        "behaves_alike": behaves_alike(report),
        "old": old_side(report).source,
        "new": new_side(report).source,
        "parts": {part.name: count_kinds(part) for part in report.parts},
        "consequences": {str(each.level): str(each.outcome) for each in report.consequences},
        "pairings": {str(each.use): str(each.fit) for each in report.pairings},
    }


def check_diff(report: ChangeReport, path: str) -> Iterator[str]:
    """Yield every inconsistency as `path: problem`; `path` is where the report stands in its document."""
    yield from check_run(report.report, f"{path}.report")
    if report.fuzzed:
        yield from check_fuzz(report.fuzzed, f"{path}.fuzzed")
    for index, example in enumerate(report.examples):
        if example.index >= len(report.report.results):
            yield f"{path}.examples[{index}].index: there is no such result"
    for level in report.breaking:
        if all(consequence.level is not level for consequence in report.consequences):
            yield f"{path}.breaking: {level} is not among the consequences"
