"""The one-line summary of `tokverify corpus`, and phrases that several formats use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokverify.text.visible import visible_message
from tokverify.text.wording import percentage, plural

if TYPE_CHECKING:
    from tokverify.report.corpus import CauseCount, CorpusReport, Throughput

_UNITS = ("kB", "MB", "GB", "TB", "PB")


def verdict(verified: CorpusReport) -> str:
    """Sum up a report, such as `12,000 documents, 1.2 MB: 3 differ, 2 causes`."""
    found = "all agree"
    if verified.differing:
        found = f"{verified.differing:,} {'differs' if verified.differing == 1 else 'differ'}"
        found += f", {plural(len(verified.causes), 'cause')}"
    if not verified.documents:
        found = "nothing was compared"
    parts = [f"{plural(verified.documents, 'document')}, {format_bytes(verified.bytes)}: {found}"]
    if verified.differing and verified.max_differences:
        parts.append(f"up to {verified.max_differences:,} are accepted")
    return "; ".join([*parts, *_reservations(verified)])


def _reservations(verified: CorpusReport) -> Iterator[str]:
    """Yield what people must know who read nothing but the verdict."""
    if verified.unreadable:
        yield f"{verified.unreadable:,} could not be verified"
    if verified.remaining_bytes:
        yield f"{format_bytes(verified.remaining_bytes)} remain to be verified"
    if verified.shard:
        yield f"only shard {verified.shard}"
    if verified.sampled_out:
        yield f"a sample: {plural(verified.sampled_out, 'other document')} were left out"


def format_bytes(size: int) -> str:
    """Write a size with a decimal unit, such as `1.2 MB`."""
    if size < 1000:  # noqa: PLR2004 - the step from one unit to the next
        return plural(size, "byte")
    value = float(size)
    for unit in _UNITS:
        value /= 1000
        if value < 999.95 or unit == _UNITS[-1]:  # noqa: PLR2004 - what would be written as 1000.0
            break
    return f"{value:,.1f} {unit}"


def describe_cause(cause: CauseCount, verified: CorpusReport) -> str:
    """Write how many documents show a cause, such as `3 documents (0.02%): BOS is missing at the beginning`.

    The result has passed `visible`.
    """
    share = percentage(cause.documents, verified.documents)
    return f"{plural(cause.documents, 'document')} ({share}): {visible_message(cause.meaning)}"


def describe_throughput(throughput: Throughput, size: int) -> str:
    """Write a speed, such as `12.3 MB/s per worker, 81.2 s of work`."""
    seconds = throughput.busy_seconds
    rate = f"{format_bytes(round(size / seconds))}/s per worker" if seconds > 0 else "too fast to measure"
    return f"{rate}, {seconds:.1f} s of work"


def list_coverage(verified: CorpusReport) -> Iterator[tuple[str, str]]:
    """Yield what the documents exercised: a label, and how much of it."""
    coverage = verified.coverage
    if coverage is None:
        return
    for name, share in (("tokens", coverage.vocabulary.pieces), ("merges", coverage.vocabulary.merges)):
        if share:
            yield name, f"{share.done:,} of {share.total:,} ({percentage(share.done, share.total)})"
    if coverage.branches:
        alternatives = plural(len(coverage.branches), "alternative")
        is_sample = coverage.sampled < verified.documents
        where = f" in a sample of {plural(coverage.sampled, 'document')}" if is_sample else ""
        yield "pre-tokenizer", f"{alternatives} matched{where}"
    if coverage.script_pairs:
        yield "scripts", f"{plural(len(coverage.script_pairs), 'pair')} met"
