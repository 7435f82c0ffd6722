"""The one-line summary of `tokverify fuzz`, and what was tried."""

from __future__ import annotations

from collections.abc import Iterator

from tokverify.render.run.differences import count_effects
from tokverify.render.run.verdict import vocabulary_difference
from tokverify.report.fuzz import DifferenceKind, FuzzReport, Share, Stop, count_compared
from tokverify.text.wording import plural

_STOPS = {
    Stop.COUNT: "as many as requested",
    Stop.TIME: "until the time limit",
    Stop.COVERAGE: "until the requested coverage was reached",
    Stop.INTERRUPTED: "until interrupted",
    Stop.GONE: "until a side stopped answering",
}


def verdict(fuzzed: FuzzReport) -> str:
    """Summarize a run, such as `3,000 texts: 310 fail, 2 causes`."""
    causes = [cause for cause in fuzzed.causes if cause.kind is not DifferenceKind.SKIPPED]
    found = "nothing found"
    if fuzzed.failing:
        verb = "fails" if fuzzed.failing == 1 else "fail"
        found = f"{fuzzed.failing:,} {verb}"
        if causes:
            found += f", {plural(len(causes), 'cause')}"
    parts = [f"{plural(fuzzed.strings, 'text')}: {found}"]
    parts += _count_explained(fuzzed)
    if fuzzed.unlisted:
        parts.append(f"the cause of {plural(fuzzed.unlisted, 'text')} is not listed")
    if fuzzed.skipped:
        parts.append(f"{fuzzed.skipped:,} skipped")
    if differences := count_effects(fuzzed.report):
        parts.append(differences)
    elif vocabularies := vocabulary_difference(fuzzed.report.vocabulary):
        parts.append(vocabularies)
    if fuzzed.report.fails_uncompared:
        parts.append("failing because not everything was compared")
    if not count_compared(fuzzed):
        parts.append("nothing was compared")
    if ended := {Stop.INTERRUPTED: "interrupted", Stop.GONE: f"incomplete: {fuzzed.gone}"}.get(fuzzed.stop):
        parts.append(ended)
    return "; ".join(parts)


def _count_explained(fuzzed: FuzzReport) -> list[str]:
    if not fuzzed.explained:
        return []
    differs = "differs" if fuzzed.explained == 1 else "differ"
    codes = ", ".join(limit.code for limit in fuzzed.report.limits)
    return [f"{fuzzed.explained:,} {differs} only because of limits of llama.cpp ({codes})"]


def describe_tried(fuzzed: FuzzReport) -> str:
    """Describe what was tried, such as `3,000 texts, until the time limit`."""
    return f"{plural(fuzzed.strings, 'text')}, {_STOPS[fuzzed.stop]}"


def coverage_shares(fuzzed: FuzzReport) -> Iterator[str]:
    """Yield each kind of coverage, such as `64.6% of 2,000 pieces`."""
    pieces, merges = fuzzed.coverage.pieces, fuzzed.coverage.merges
    if not pieces.total:
        yield "not known: neither tokenizer lists its tokens"
        return
    yield f"{percent(pieces)} of {plural(pieces.total, 'piece')}"
    if merges:
        yield f"{percent(merges)} of {plural(merges.total, 'merge')}"


def percent(share: Share) -> str:
    """Format a share as a percentage, rounded down: 100% means all."""
    per_mille = 1000 * share.done // share.total if share.total else 1000
    return f"{per_mille / 10:.1f}%"
