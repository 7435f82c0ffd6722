"""The report of `tokverify corpus`: how many documents were compared, and which differ, where, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tokverify.report.fields import Count, MeaningEnum
from tokverify.report.fuzz import FuzzCoverage, Share
from tokverify.report.run import Report
from tokverify.report.run_check import check_run


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCount:
    """The documents of one source or one script."""

    name: str
    """The path or the script."""
    documents: Count
    """Documents compared."""
    differing: Count
    """Documents whose ids differ."""
    unreadable: Count = 0
    """Documents that could not be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseCount:
    """A cause, and the documents that show it."""

    cause: CorpusCause
    """The cause."""
    documents: Count
    """How many documents show it; one document may show several causes."""
    meaning: str
    """What the cause means, as a sentence without a period."""
    cases: tuple[str, ...] = ()
    """The ids of the results that are examples of it, shortest text first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusExample:
    """Where a result of `CorpusReport.report` was found."""

    case: str
    """The id of its case."""
    place: str
    """The document it was found in, such as `data/a.parquet: row 17`."""
    shrunk: bool
    """Whether its text is a part of the document that shows the same cause."""
    judgment: str = ""
    """What a third tokenizer returns, such as `llama.cpp agrees with actual`; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableGroup:
    """Documents that could not be read or encoded, for one reason."""

    reason: str
    """Why."""
    count: Count
    """How many there are."""
    places: tuple[str, ...]
    """Where the first of them are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusCoverage:
    """What the documents exercised of the tokenizer under test."""

    vocabulary: FuzzCoverage
    """The ids and merges that they exercised."""
    branches: tuple[str, ...] = ()
    """The alternatives of the pre-tokenizer's patterns that matched in the examined documents."""
    script_pairs: tuple[str, ...] = ()
    """The scripts whose letters were neighbors, such as `Latin Han`."""
    sampled: Count = 0
    """How many documents were examined for branches: all with a text, or a sample if the Python engine encodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """How fast the documents were verified; the only part of a report in which two equal runs differ."""

    busy_seconds: float
    """How long all workers together were busy, with the results of earlier runs included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusReport:
    """The result of verifying a corpus, or a part of one."""

    report: Report
    """The two sides, and one result for each of `examples`, in the same order."""
    documents: Count
    """Documents compared."""
    bytes: Count
    """The size of their texts in UTF-8."""
    actual_tokens: Count
    """How many tokens the tokenizer under test needs for all documents."""
    expected_tokens: Count
    """How many the reference needs."""
    differing: Count
    """Documents whose ids differ."""
    max_differences: Count = 0
    """How many documents may differ without failing."""
    unreadable: Count
    """Documents, or parts of files, that could not be compared."""
    null: Count = 0
    """Those among them that are rows without a value."""
    allow_null: bool = False
    """Whether such rows are accepted."""
    sampled_out: Count = 0
    """Documents left out because only a sample was requested."""
    shard: str = ""
    """The part that was requested, such as `3/64`; empty for the whole corpus."""
    remaining_bytes: Count = 0
    """The size of the files, or parts of files, that were requested and have not been verified yet."""
    causes: tuple[CauseCount, ...] = ()
    """In the order of `CorpusCause`."""
    examples: tuple[CorpusExample, ...] = ()
    """Where the results of `report` were found."""
    sources: tuple[GroupCount, ...] = ()
    """By path, in alphabetical order."""
    scripts: tuple[GroupCount, ...] = ()
    """By script, the most documents first."""
    unreadable_groups: tuple[UnreadableGroup, ...] = ()
    """By reason, in alphabetical order."""
    coverage: CorpusCoverage | None = None
    """What the documents used of the tokenizer; None if it was not measured."""
    throughput: Throughput | None = None
    """Measured on request only."""
    strict: bool = False
    """Whether documents that only limits explain count as well."""
    notes: tuple[str, ...] = ()
    """What was compared differently than requested, and why; and what nearly all documents suggest."""

    @property
    def explained(self) -> int:
        """How many documents differ only because of limits of llama.cpp."""
        return sum(cause.documents for cause in self.causes if cause.cause is CorpusCause.LIMIT)

    @property
    def missing(self) -> int:
        """How many documents had to be compared and could not."""
        return self.unreadable - (self.null if self.allow_null else 0)

    @property
    def failing(self) -> int:
        """How many documents count against `max_differences`."""
        return self.differing - (0 if self.strict else self.explained)


def corpus_exit_code(verified: CorpusReport) -> int:
    """Return 2 if something was not compared, 1 if more documents differ than accepted, and else 0.

    Documents that limits of llama.cpp explain completely are accepted, unless the report is strict.
    """
    if verified.missing or verified.remaining_bytes or not verified.documents:
        return 2
    return 1 if verified.failing > verified.max_differences else 0


def summarize_corpus(verified: CorpusReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    return {
        "exit_code": corpus_exit_code(verified),
        "documents": verified.documents,
        "bytes": verified.bytes,
        "differing": verified.differing,
        "explained": verified.explained,
        "unreadable": verified.unreadable,
        "null": verified.null,
        "causes": {str(cause.cause): cause.documents for cause in verified.causes},
    }


def check_corpus(verified: CorpusReport, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    yield from check_run(verified.report, f"{path}.report")
    if verified.differing > verified.documents:
        yield f"{path}.differing: expected at most {verified.documents:,}, the number of documents"
    ids = [result.case.id for result in verified.report.results]
    if [example.case for example in verified.examples] != ids:
        yield f"{path}.examples: expected one for each result, in the same order"
    for index, cause in enumerate(verified.causes):
        if not set(cause.cases) <= set(ids):
            yield f"{path}.causes[{index}].cases: expected ids of results"


class CorpusCause(MeaningEnum):
    """What kind of difference a document shows; it may show several."""

    BOS_MISSING = "bos-missing", "BOS is missing at the beginning"
    BOS_DOUBLED = "bos-doubled", "BOS is repeated at the beginning"
    BOS_EXTRA = "bos-extra", "BOS is added at the beginning, and the reference adds none"
    EOS_MISSING = "eos-missing", "EOS is missing at the end"
    EOS_DOUBLED = "eos-doubled", "EOS is repeated at the end"
    EOS_EXTRA = "eos-extra", "EOS is added at the end, and the reference adds none"
    ADDED_TOKEN = "added-token", "an added token is recognized on one side only"
    NORMALIZATION = "normalization", "the text is normalized to another Unicode form"
    CASE = "case", "letters are lowercased, or lose their accents, on one side only"
    SPACES = "spaces", "white space is added, removed or replaced"
    UNKNOWN = "unknown", "a part of the text becomes the unknown token on one side only"
    BYTE_FALLBACK = "byte-fallback", "a part of the text becomes byte tokens on one side only"
    IDS = "ids", "the same pieces have other ids"
    PRE_TOKENIZATION = "pre-tokenization", "the text is split into other pre-tokens"
    SEGMENTATION = "segmentation", "the same pre-token becomes other pieces"
    PADDING = "padding", "the ids contain padding around the document"
    OUTSIDE_VOCABULARY = "outside-vocabulary", "ids are outside the vocabulary"
    TRUNCATED = "truncated", "the ids end before the text does"
    NOT_CANONICAL = "not-canonical", "the tokenizer returns other ids for the text that the ids represent"
    LIMIT = "limit", "only limits of llama.cpp make the ids differ, which no GGUF file can change"
    ERROR = "error", "only one side can encode the document"
    OTHER = "other", "the ids represent other text"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusProgress:
    """The state of a run."""

    units: Share
    file_bytes: Share
    """The size of the files, or parts of files; compressed if the files are."""
    documents: Count
    differing: Count
    unreadable: Count
    causes: Mapping[str, Count] = field(default_factory=dict)
    """How many documents show each cause so far."""
    busy_seconds: float
    """How long workers were busy, all together."""
    bytes: Count
    """The size of the texts that were compared, in UTF-8."""
