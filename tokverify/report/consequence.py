"""Consequence: what a change of a tokenizer invalidates, and what has to be done about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tokverify.report.fields import Count


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
    add_special: bool
    parse_special: bool
    old: str
    """What the old version makes of it, in words."""
    new: str
    """What the new version makes of it, in words."""


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a change means for one thing that depends on the tokenizer."""

    level: Level
    outcome: Outcome
    reason: str
    """What was found, or how many texts were compared without finding anything."""
    action: str = ""
    """What has to be done; empty if nothing is broken."""
    witness: Witness | None = None
    """None if nothing is broken, or if no text shows it."""
    broken: Count = 0
    """How many ids, settings or texts prove it."""


def consequences_exit_code(consequences: Iterable[Consequence], levels: Sequence[Level]) -> int:
    """Return 1 if one of `levels` is broken, 2 if one could not be compared, and 0 if all are valid."""
    outcomes = {consequence.outcome for consequence in consequences if consequence.level in levels}
    if Outcome.BROKEN in outcomes:
        return 1
    return 2 if Outcome.UNKNOWN in outcomes else 0
