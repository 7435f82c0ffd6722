"""The report of `tokverify learn`: what a reference's answers revealed, and how well the result agrees with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tokverify.report.fields import Count
from tokverify.report.side import Side


class Origin(Enum):
    """How something was learned."""

    DECLARED = "declared"
    """The reference declares it."""
    IDS = "ids"
    """Its ids reveal it."""
    CONVENTION = "convention"
    """It is what trainers and converters usually write, and agrees with the ids."""


@dataclass(frozen=True, slots=True)
class LearnedFact:
    """One part of the specification."""

    name: str
    """What it is, such as `pre-tokenizer`."""
    value: str
    """What was learned, as a file states it."""
    origin: Origin
    """How it was learned."""


@dataclass(frozen=True, slots=True)
class LearnedToken:
    """A token that is matched in texts before the model runs."""

    id: Count
    """Its id."""
    text: str
    """The text that it matches."""
    special: bool
    """Whether it is matched only if special tokens are parsed."""
    lstrip: bool
    """Whether a match includes the whitespace before it."""
    rstrip: bool
    """Whether a match includes the whitespace after it."""


@dataclass(frozen=True, slots=True)
class LearnedDifference:
    """A text that the reference and the learned tokenizer encode differently."""

    text: str
    """The text."""
    add_special: bool
    """Whether the tokens around a text were added."""
    parse_special: bool
    """Whether control tokens in the text were parsed."""
    expected: tuple[int, ...] | None
    """The ids of the reference; None if it could not encode the text."""
    actual: tuple[int, ...] | None
    """The ids of the learned tokenizer; None if it could not encode the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The result of learning a tokenizer."""

    reference: Side
    """What was learned from."""
    target: str
    """The file that was written."""
    size: Count
    """The number of tokens."""
    encodings: Count
    """The number of texts that the reference encoded, without those that verify the result."""
    facts: tuple[LearnedFact, ...]
    """The parts of the specification."""
    types: Mapping[str, Count]
    """The number of tokens of each type."""
    added_tokens: tuple[LearnedToken, ...]
    """By id."""
    alike: tuple[str, ...]
    """Other pre-tokenizers or models that would give the same ids."""
    hidden: tuple[str, ...]
    """What the reference does not reveal, and what the file contains instead."""
    texts: Count
    """The number of generated texts that verified the result."""
    differing: Count
    """How many of them the reference encodes differently."""
    examples: tuple[LearnedDifference, ...]
    """The shortest of them."""
    versions: Mapping[str, str]
    """Library -> version."""


def learning_exit_code(learning: Learning) -> int:
    """Return 0 if all texts that verified the result have the same ids, else 1."""
    return int(learning.differing > 0)


def summarize_learning(learning: Learning) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    equal = learning.texts - learning.differing
    return {"exit_code": learning_exit_code(learning), "texts": learning.texts, "equal": equal}


def check_learning(learning: Learning, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    if learning.differing > learning.texts:
        yield f"{path}.differing: expected at most `texts`"
    if len(learning.examples) > learning.differing:
        yield f"{path}.examples: expected at most `differing`"
