"""The report of `tokverify diff`: what changed, what that invalidates, and whether two models fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tokverify.report.fields import Count
from tokverify.report.fuzz import INTERRUPTED, FuzzReport, Stop, check_fuzz
from tokverify.report.run import Report, compares_nothing, count_explained, has_failing_case, run_exit_code
from tokverify.report.run_check import check_run
from tokverify.report.side import Side


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
    """What changed in it."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a change on a corpus."""

    lines: Count
    """The number of lines that were encoded."""
    changed_lines: Count
    """Lines whose ids change."""
    bytes: Count
    """The size of the lines, in bytes of UTF-8."""
    changed_bytes: Count
    """Bytes of the lines whose ids change."""
    old_tokens: Count
    """How many tokens A needs for the lines."""
    new_tokens: Count
    """How many B needs for them."""
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


class Level(StrEnum):
    """What depends on a tokenizer, from the most expensive to replace to the cheapest."""

    VOCABULARY = "vocabulary"
    """The weights: each id represents the same token."""
    SPECIAL = "special"
    """Prompts and stop conditions: special tokens, what is added around a text, and chat templates are the same."""
    IDS = "ids"
    """Embeddings and caches: each text gets the same ids."""
    TEXT = "text"
    """Round trips: ids decode to the same text, and no text that survived encoding and decoding is damaged."""
    COST = "cost"
    """Budgets: each text gets the same number of tokens."""


class Outcome(StrEnum):
    """Whether something that depends on a tokenizer remains valid."""

    VALID = "valid"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    """It could not be compared."""


ACTIONS: Mapping[Level, str] = {
    Level.VOCABULARY: "retrain the model, or keep the old tokenizer",
    Level.SPECIAL: "update prompts and stop conditions",
    Level.IDS: "tokenize stored texts again, embed them again, and clear caches",
    Level.TEXT: "decode stored ids with the old tokenizer",
    Level.COST: "nothing, except for budgets and limits",
}
"""What has to be done if a level is broken."""

ONLY_ROUND_TRIPS = "stop relying on the round trip of new texts; stored ids decode as before"
"""What has to be done instead if TEXT is broken although stored ids decode to the same texts."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A minimal text that proves a consequence: without any of its characters, it would not."""

    text: str
    """The text."""
    add_special: bool
    """Whether the tokens around a text were added."""
    parse_special: bool
    """Whether control tokens in the text were parsed."""
    old: str
    """What the old version makes of it, in words."""
    new: str
    """What the new version makes of it, in words."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a change means for one thing that depends on the tokenizer."""

    level: Level
    """What depends on the tokenizer."""
    outcome: Outcome
    """Whether that remains valid."""
    reason: str
    """What was found, or how many texts were compared without finding anything."""
    action: str = ""
    """What has to be done; empty if nothing is broken."""
    witness: Witness | None = None
    """None if nothing is broken, or if no text shows it."""
    broken: Count = 0
    """How many ids, settings or texts prove it."""


def _consequences_exit_code(consequences: Iterable[Consequence], levels: Sequence[Level]) -> int:
    """Return 1 if one of `levels` is broken, 2 if one could not be compared, and 0 if all are valid."""
    outcomes = {consequence.outcome for consequence in consequences if consequence.level in levels}
    if Outcome.BROKEN in outcomes:
        return 1
    return 2 if Outcome.UNKNOWN in outcomes else 0


class Use(StrEnum):
    """What two models are used together for, and by which program, if programs differ."""

    SPECULATIVE = "speculative"
    """llama.cpp drafts tokens with B and verifies them with A."""
    SPECULATIVE_VLLM = "speculative-vllm"
    SPECULATIVE_SGLANG = "speculative-sglang"
    ADAPTER = "adapter"
    """An adapter that was trained on A is applied to B."""
    EMBEDDING = "embedding"
    """Texts are cut into chunks by the tokens of A, and read by B: an embedder and its reranker."""
    GRAMMAR = "grammar"
    """A grammar engine that was built from the vocabulary of B restricts what A generates."""


class Fit(StrEnum):
    """How well two models fit each other."""

    USABLE = "usable"
    LIMITED = "usable up to an id"
    """Higher ids exist in only one of the two."""
    LOSSY = "lossy"
    """It works, but worse than with a model of the same tokenizer."""
    UNUSABLE = "unusable"
    """The program refuses the pair, or the result is wrong."""
    UNKNOWN = "unknown"
    """It could not be compared."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether two models can be used together for one purpose."""

    use: Use
    """The purpose."""
    fit: Fit
    """Whether they can be used together."""
    reason: str
    """Why, by the rules of the program that combines them."""


def pairing_exit_code(pairings: Iterable[Pairing]) -> int:
    """Return 1 if a pair is unusable or lossy, 2 if one could not be compared, and 0 otherwise."""
    fits = {pairing.fit for pairing in pairings}
    if fits & {Fit.UNUSABLE, Fit.LOSSY}:
        return 1
    return 2 if Fit.UNKNOWN in fits else 0


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


def is_decided_early(report: ChangeReport) -> bool:
    """Check whether nothing was compared but what decides that two models cannot be used together."""
    return bool(report.pairings) and not report.consequences


def count_kinds(part: Part) -> dict[str, int]:
    """Count the changes of a part by kind."""
    counts: dict[str, int] = {}
    for change in part.changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    return counts


def behaves_alike(report: ChangeReport) -> bool:
    """Check that no text was found that the two versions encode differently, for whatever reason."""
    if has_failing_case(report.report) or count_explained(report.report):
        return False
    if report.fuzzed and (report.fuzzed.failing or report.fuzzed.explained):
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
        levels = _consequences_exit_code(report.consequences, report.breaking)
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
