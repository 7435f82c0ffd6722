"""Remarks that help to read statistics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tokverify.explain.stats.text import PIECE_BYTES
from tokverify.report.stats import StatsReport
from tokverify.text.wording import plural


def make_remarks(stats: StatsReport) -> Iterator[str]:
    """Yield the remarks that apply."""
    yield "words are separated by white space; they are not counted in scripts without spaces between words"
    yield from _explain_tokens(stats)
    if any(measured.probe.trailing_space for measured in stats.tokenizers):
        yield (
            "a space at the end of a prompt becomes a separate token, which would not be there if the text continued:"
            " do not end a prompt with a space"
        )
    if not stats.files:
        yield "unused tokens are counted only for files: the samples are too short"
    yield from _explain_texts(stats)


def _explain_tokens(stats: StatsReport) -> Iterator[str]:
    for measured in stats.tokenizers:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in measured.excluded.items())
        if kinds:
            yield f"{measured.name}: tokens not counted as long or unused: {kinds}"
    yield "runs of a single character are not listed among the longest tokens"
    if any(count.unknown for count in chain.from_iterable(texts.counts for texts in stats.texts)):
        yield "an unknown token can represent any amount of text, so few tokens are no advantage if some are unknown"


def _explain_texts(stats: StatsReport) -> Iterator[str]:
    pieces = sum(texts.pieces for texts in stats.texts)
    if pieces > max(len(stats.files), len(stats.texts)):
        yield (
            f"encoded in {pieces:,} pieces: files over {PIECE_BYTES >> 20} MiB are split at line ends, and prose where"
            " the script changes; each split may change a count by a token or two"
        )
    trailing = sum(texts.trailing for texts in stats.texts) if stats.files else 0
    if trailing:
        yield f"{plural(trailing, 'line')} of these texts {'ends' if trailing == 1 else 'end'} in spaces or tabs"
