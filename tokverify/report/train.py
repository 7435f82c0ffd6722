"""The report of `tokverify train`."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.report.fields import Count
from tokverify.report.run import Report, run_exit_code
from tokverify.tokenizer import Token


@dataclass(frozen=True, slots=True)
class PairCount:
    """How often two tokens are neighbors."""

    left: int
    """The id of the first one."""
    right: int
    """The id of the second one."""
    count: Count
    """How often `left` comes before `right`."""


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """One merge of a training."""

    counts: tuple[PairCount, ...]
    """The most frequent pairs before the merge, in the order in which they would be chosen."""
    pairs: Count
    """How many different pairs there were."""
    left: Token
    """The left token of the chosen pair."""
    right: Token
    """The right token of the chosen pair."""
    merged: Token
    """The token that they form."""
    tokens: tuple[int, ...]
    """The tokens at the beginning of the corpus after the merge."""
    total: Count
    """How many tokens the corpus has after the merge."""


@dataclass(frozen=True, slots=True)
class ChecklistPoint:
    """A point to verify after training."""

    name: str
    """What was checked."""
    text: str
    """The text that was encoded."""
    tokens: tuple[Token, ...]
    """The tokens of the text."""
    expected: tuple[int | str, ...]
    """The expected ids or pieces."""
    holds: bool
    """Whether the text has these tokens."""
    is_learned: bool
    """Whether it also depends on the words of the corpus."""


@dataclass(frozen=True, slots=True)
class Training:
    """The result of training."""

    report: Report
    """The comparison of the GGUF file with the trained tokenizer, with a diagnosis if they differ."""
    names: tuple[str, ...]
    """The files that were written."""
    size: Count
    """The number of tokens."""
    strings: Count
    """The number of generated texts that were compared besides the cases."""
    notes: tuple[str, ...]
    """What else the user should know."""
    trace: tuple[TrainingStep, ...] = ()
    """The first merges, if they were asked for."""
    checklist: tuple[ChecklistPoint, ...] = ()
    """The points that the algorithm's description lists for verification."""


def training_exit_code(training: Training) -> int:
    """Return that of the comparison; 1 if a point of the checklist fails that does not depend on the corpus."""
    fails = any(not point.holds and not point.is_learned for point in training.checklist)
    return run_exit_code(training.report) or int(fails)
