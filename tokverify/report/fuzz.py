"""The report of `tokverify fuzz`: how many generated texts were compared, and why some of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tokverify.report.fields import Count
from tokverify.report.run import Report, failing_differences
from tokverify.report.run_check import check_run
from tokverify.tokenizer import HexBytes

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class Stop(StrEnum):
    """Why a fuzzing run ended."""

    COUNT = "count"
    TIME = "time"
    COVERAGE = "coverage"
    INTERRUPTED = "interrupted"
    GONE = "gone"
    """A side has stopped answering."""


class DifferenceKind(StrEnum):
    """How two tokenizers disagree about a text.

    `SKIPPED` is not a failure: neither side can encode the text, or one side does not support it.
    """

    IDS = "ids"
    DECODING = "decoding"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole."""

    done: Count
    """The size of the part."""
    total: Count
    """The size of the whole."""


@dataclass(frozen=True, slots=True)
class FuzzCoverage:
    """How much of a vocabulary the generated texts exercised."""

    pieces: Share
    """Token ids that some text produced."""
    merges: Share | None
    """Merges that built one of those pieces; None if the model has no merges."""


@dataclass(frozen=True, slots=True)
class FuzzProgress:
    """The state of a run that has not ended yet."""

    strings: Count
    """Texts tried so far."""
    failing: Count
    """Texts on which the two sides differ."""
    causes: int
    """Distinct causes found."""
    coverage: FuzzCoverage


@dataclass(frozen=True, slots=True)
class FoundText:
    """A generated text and the options it was encoded with."""

    text: str
    """The text."""
    add_special: bool
    """Whether the tokens around a text were added."""
    parse_special: bool
    """Whether control tokens in the text were parsed."""


@dataclass(frozen=True, slots=True)
class DecodedBytes:
    """The bytes that each side decodes the same ids to."""

    actual: HexBytes
    """Those of the tokenizer under test."""
    expected: HexBytes
    """Those of the reference."""


@dataclass(frozen=True, slots=True)
class FuzzCause:
    """One reason why the two sides differ; the case with its minimal text is in `FuzzReport.report`."""

    case: str
    """The id of the case."""
    kind: DifferenceKind
    """In what way the texts differ."""
    strings: Count
    """How many texts differ for this reason."""
    generator: str
    """The generator that made the first of them."""
    found: FoundText
    """The first of them, before it was shrunk."""
    decoded: DecodedBytes | None = None
    """Set if both sides decode the ids, but to different bytes."""
    explanation: str = ""
    """What the change does that explains it, as in the diagnosis of the report; empty if none is known."""
    others: tuple[FoundText, ...] = ()
    """Other minimal texts that the same change explains."""


@dataclass(frozen=True, slots=True)
class GeneratorTally:
    """What one generator contributed."""

    strings: Count
    """Texts it made."""
    failing: Count
    """Texts among them on which the two sides differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzReport:
    """The result of a fuzzing run."""

    report: Report
    """The comparison, with one result for each of `causes`, in the same order."""
    strings: Count
    """Texts tried."""
    failing: Count
    """Texts on which the two sides differ, without those that limits explain."""
    explained: Count = 0
    """Texts on which the two sides differ only because of the limits in `report`."""
    skipped: Count
    """Texts that could not be compared."""
    unlisted: Count
    """Texts among those that failed or were skipped whose cause is not listed."""
    stop: Stop
    """Why the run ended."""
    notes: tuple[str, ...] = ()
    """Options that could not always be as the generators asked for, and why."""
    coverage: FuzzCoverage
    """How much of the vocabulary the texts used."""
    generators: Mapping[str, GeneratorTally]
    """The contribution of each generator, by name."""
    causes: tuple[FuzzCause, ...] = ()
    """Why texts differ, in the order in which that was found."""
    gone: str = ""
    """Why a side has stopped answering, if that ended the run."""


def count_compared(fuzzed: FuzzReport) -> int:
    """Count the texts that were compared."""
    return fuzzed.strings - fuzzed.skipped


def fuzz_exit_code(fuzzed: FuzzReport) -> int:
    """Return 0 if nothing was found, 1 if something was, 2 if no text could be compared, 130 after Ctrl-C.

    It is 2 as well if a side stopped answering.
    """
    if fuzzed.stop is Stop.INTERRUPTED:
        return INTERRUPTED
    if fuzzed.stop is Stop.GONE:
        return 2
    if fuzzed.failing or failing_differences(fuzzed.report) or fuzzed.report.fails_uncompared:
        return 1
    return 0 if count_compared(fuzzed) else 2


def summarize_fuzz(fuzzed: FuzzReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": fuzz_exit_code(fuzzed),
        "strings": fuzzed.strings,
        "failing": fuzzed.failing,
        "explained": fuzzed.explained,
        "skipped": fuzzed.skipped,
        "unlisted": fuzzed.unlisted,
        "causes": len(fuzzed.causes),
        "stop": str(fuzzed.stop),
        "differences": len(fuzzed.report.differences),
        "failing_differences": len(failing_differences(fuzzed.report)),
    }


def check_fuzz(fuzzed: FuzzReport, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    yield from check_run(fuzzed.report, f"{path}.report")
    if len(fuzzed.causes) != len(fuzzed.report.results):
        yield f"{path}.causes: expected one cause for each of the {len(fuzzed.report.results)} results"
        return
    for index, (cause, result) in enumerate(zip(fuzzed.causes, fuzzed.report.results, strict=True)):
        if cause.case != result.case.id:
            yield f"{path}.causes[{index}].case: expected {result.case.id!r}, the id of the result at the same place"
