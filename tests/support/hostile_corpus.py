"""A report of `tokverify corpus` with every kind of content, in which every text is an attack."""

from dataclasses import replace
from functools import cache

from support.hostile_finding import HOSTILE, hostile_fuzz
from tokverify.report.corpus import (
    CauseCount,
    CorpusCause,
    CorpusCoverage,
    CorpusExample,
    CorpusReport,
    GroupCount,
    Throughput,
    UnreadableGroup,
)
from tokverify.report.fuzz import FuzzCoverage, Share
from tokverify.report.run import Status


@cache
def hostile_corpus() -> CorpusReport:
    """Make a report in which everything goes wrong."""
    results = [result for result in hostile_fuzz().report.results if result.status is Status.MISMATCH][:6]
    ids = [result.case.id for result in results]
    return CorpusReport(
        report=replace(hostile_fuzz().report, results=tuple(results)),
        documents=200_000,
        bytes=1_234_567_890,
        actual_tokens=300_000_000,
        expected_tokens=300_000_001,
        differing=7,
        max_differences=1,
        unreadable=3,
        sampled_out=5,
        shard="3/64",
        remaining_bytes=1000,
        causes=(
            CauseCount(
                cause=CorpusCause.BOS_MISSING,
                documents=1,
                meaning=CorpusCause.BOS_MISSING.meaning,
                cases=tuple(ids[:1]),
            ),
            CauseCount(cause=CorpusCause.OTHER, documents=7, meaning=HOSTILE, cases=tuple(ids)),
        ),
        examples=tuple(
            CorpusExample(case=id, place=f"data/{HOSTILE}.parquet: row {row}", shrunk=row > 0, judgment=HOSTILE)
            for row, id in enumerate(ids)
        ),
        sources=(
            GroupCount(name=f"data/{HOSTILE}", documents=0, differing=0, unreadable=3),
            *(GroupCount(name=f"data/{part:03}.parquet", documents=800, differing=part % 3) for part in range(250)),
        ),
        scripts=(
            GroupCount(name="Latin", documents=199_990, differing=6),
            GroupCount(name=HOSTILE, documents=10, differing=1),
        ),
        unreadable_groups=(UnreadableGroup(reason=HOSTILE, count=3, places=(HOSTILE, "data/b.parquet: row 2")),),
        coverage=CorpusCoverage(
            vocabulary=FuzzCoverage(Share(31_000, 32_000), Share(2, 9)),
            branches=(HOSTILE, r"\p{N}{1,3}"),
            script_pairs=("Latin Han",),
            sampled=781,
        ),
        throughput=Throughput(busy_seconds=61.5),
        notes=(HOSTILE,),
    )
