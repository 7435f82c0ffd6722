"""The report of `tokverify stream`: whether text that is decoded id by id equals text that is decoded at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tokverify.report.fields import Count
from tokverify.report.side import Side


class StreamFault(StrEnum):
    """How streamed text differs from the text decoded at once."""

    LOST = "lost"
    """A part is missing."""
    DUPLICATED = "duplicated"
    """A part is there that should not be, such as one that was already returned."""
    REPLACED = "replaced"
    """It contains more U+FFFD than the text that was encoded."""
    CHANGED = "changed"
    """It differs in another way."""
    EXTENDED = "extended"
    """A session that is extended piece by piece has other ids than its text."""
    ERROR = "error"
    """An id could not be decoded, or a session not extended."""


class StreamMethod(StrEnum):
    """How a side decodes id by id."""

    INCREMENTAL = "its own incremental decoder"
    PREFIXES = "decoding all ids so far, for each id"
    """What clients do with a tokenizer that decodes only at once; a U+FFFD at the end is held back."""


@dataclass(frozen=True, slots=True)
class StreamFailure:
    """A text that is not streamed as it is decoded at once."""

    case: str
    """The case, as suite/id."""
    fault: StreamFault
    """What is wrong with the streamed text."""
    resumed_at: Count | None
    """After how many ids decoding was resumed; None if it started with the first one."""
    ids: tuple[int, ...]
    """All ids of the text."""
    expected: str
    """The text decoded at once; of a session, the ids of its text from their first difference on."""
    streamed: str
    """The streamed text, joined; after a resumption only what was returned from there on. For an error, its message."""
    others: Count = 0
    """At how many other places the same text has the same fault when it is resumed there."""
    extended_to: Count | None = None
    """How many characters of the text a session had when its ids were wrong for the first time."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far back an extension of a text changes its tokens."""

    case: str
    """The case, as suite/id."""
    before: str
    """The end of the text whose tokens change; the tokens of what comes before it stay."""
    added: str
    """The extension."""
    characters: Count
    """How many characters `before` has."""
    tokens: Count
    """How many tokens at the end of the text change."""


@dataclass(frozen=True, slots=True)
class StreamedSide:
    """What was found on one side."""

    side: Side
    """The side."""
    method: StreamMethod
    """How it decodes ids one by one."""
    texts: Count
    """How many texts were streamed from their first id."""
    ids: Count
    """How many ids these have."""
    resumptions: Count
    """How often decoding was resumed within a text."""
    failures: tuple[StreamFailure, ...]
    """In the order of the cases."""
    skipped: Mapping[str, Count] = field(default_factory=dict)
    """Why texts were not streamed, not resumed everywhere, or not extended -> how many."""
    extensions: Count = 0
    """How often a text was extended by its next piece."""
    sessions: bool = False
    """Whether a session that encodes only what is new was extended, too."""
    reaches: tuple[Reach, ...] = ()
    """What changes the most characters, and what changes the most tokens if that is more; empty if nothing changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamReport:
    """The result of streaming all texts on all sides."""

    sides: tuple[StreamedSide, ...]
    """The model, and then the reference if there is one."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries involved."""


def stream_exit_code(report: StreamReport) -> int:
    """Return 2 if some side streamed nothing, else 1 if there is a failure, else 0."""
    if not report.sides or any(streamed.texts == 0 for streamed in report.sides):
        return 2
    return int(any(streamed.failures for streamed in report.sides))


def summarize_stream(report: StreamReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": stream_exit_code(report),
        "texts": [streamed.texts for streamed in report.sides],
        "failures": [len(streamed.failures) for streamed in report.sides],
    }


def check_stream_report(report: StreamReport, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    for index, streamed in enumerate(report.sides):
        for number, failure in enumerate(streamed.failures):
            place = f"{path}.sides[{index}].failures[{number}]"
            if failure.resumed_at is not None and failure.resumed_at >= len(failure.ids):
                yield f"{place}.resumed_at: expected less than the number of ids"
        if len({failure.case for failure in streamed.failures}) > streamed.texts:
            yield f"{path}.sides[{index}].texts: expected at least the number of texts with a failure"
