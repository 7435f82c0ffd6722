"""Record a trace of the encoder as plain data for the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.engine import trace as engine
from tokverify.engine.family import NO_TOKEN
from tokverify.engine.models.lattice_trace import LOWEST
from tokverify.engine.trace import Candidate, Step
from tokverify.report import explain as report
from tokverify.report.explain import CharsmapSearch, CharsmapStep, LatticeEntry, LatticeStep, LatticeTrial
from tokverify.text.utf8 import to_text

if TYPE_CHECKING:
    from tokverify.engine.charsmap import CharsmapWalk, WalkStep


if TYPE_CHECKING:
    from tokverify.engine.encoder import Encoder

    Ranks = Mapping[tuple[str, str], int]
    """The merges of a reference and their ranks."""

_MAX_SYMBOLS = 20
"""The symbols after each merge are recorded only for words of at most this many; longer ones would be unreadable."""


def record_stretch(stretch: engine.Stretch, encoder: Encoder, ranks: Ranks) -> report.Stretch:
    """Record the text between two added tokens, and each stage that it went through."""
    rewriting = stretch.trace.rewriting
    data = rewriting.result
    return report.Stretch(
        span=(stretch.start, stretch.end),
        text=stretch.text,
        normalized=to_text(data),
        charsmap=record_searches(stretch.trace.walks),
        changes=tuple(
            report.Replacement(change.span, to_text(change.before), to_text(change.after))
            for change in rewriting.changes
        ),
        pre_tokens=tuple(_record_pre_token(pre_token, data) for pre_token in stretch.trace.pre_tokens),
        words=tuple(_record_word(word, stretch, encoder, ranks) for word in stretch.trace.words),
    )


def _record_pre_token(pre_token: engine.PreToken, data: bytes) -> report.PreToken:
    hit = pre_token.hit
    made_by = hit and report.PatternMatch(hit.pattern_index, hit.pattern, hit.alternative_index, hit.alternative)
    return report.PreToken(
        (pre_token.start, pre_token.end), to_text(data[pre_token.start : pre_token.end]), made_by or None
    )


def _record_word(word: engine.Word, stretch: engine.Stretch, encoder: Encoder, ranks: Ranks) -> report.Word:
    rewriting, how = stretch.trace.rewriting, word.how
    start, end = rewriting.source_span(word.start, word.end)
    ids = tuple(taken.id for taken in word.tokens)
    return report.Word(
        span=(word.start, word.end),
        source_span=(stretch.start + start, stretch.start + end),
        text=to_text(rewriting.result[word.start : word.end]),
        pre_token=word.pre_token,
        ids=ids,
        pieces=tuple(map(encoder.piece, ids)),
        merging=_record_merging(how, encoder, ranks) if isinstance(how, engine.Merging) else None,
        lattice=_record_lattice(how, encoder) if isinstance(how, engine.Lattice) else None,
        matching=_record_matching(how) if isinstance(how, engine.Matching) else None,
        reason=how.reason if isinstance(how, engine.Whole) else None,
    )


def _record_merging(merging: engine.Merging, encoder: Encoder, ranks: Ranks) -> report.Merging:
    return report.Merging(
        by=merging.by,
        symbols=merging.symbols,
        symbol_ids=merging.ids,
        merges=tuple(_record_merges(merging, ranks)),
        byte_fallbacks=tuple(_record_fallback(spelled, encoder) for spelled in merging.spelled),
    )


def _record_merges(merging: engine.Merging, ranks: Ranks) -> Iterator[report.Merge]:
    is_short = len(merging.symbols) <= _MAX_SYMBOLS
    symbols = dict(enumerate(merging.symbols)) if is_short else {}
    ids = dict(enumerate(merging.ids)) if is_short else {}
    for join in merging.joins:
        if is_short:
            following = min(index for index in symbols if index > join.index)
            symbols[join.index] += symbols.pop(following)
            ids[join.index] = join.id
        order = sorted(symbols)
        yield report.Merge(
            symbol_index=join.index,
            pair=_record_pair(join.pair, ranks),
            competitors=tuple(_record_pair(rival, ranks) for rival in join.rivals),
            competitors_left_out=join.left_out,
            symbols=tuple(symbols[index] for index in order),
            merged_index=order.index(join.index) if is_short else 0,
            symbol_ids=tuple(ids[index] for index in order),
        )


def _record_pair(pair: engine.Pair, ranks: Ranks) -> report.Pair:
    return report.Pair(pair.left, pair.right, pair.weight, pair.places, ranks.get((pair.left, pair.right)))


def _record_fallback(spelled: engine.Spelled, encoder: Encoder) -> report.ByteFallback:
    pieces = tuple(None if id is None else encoder.piece(id) for id in spelled.ids)
    return report.ByteFallback(spelled.symbol, spelled.ids, pieces)


def _record_lattice(lattice: engine.Lattice, encoder: Encoder) -> report.Lattice:
    # Only scores have a piece for unknown characters; with costs, such a character is encoded byte by byte.
    unknown_id = encoder.settings.special_ids.get("unk") if lattice.by == "score" else None
    by_score = lattice.by == "score"
    return report.Lattice(
        by=lattice.by,
        rows=tuple(_record_row(row, unknown_id) for row in lattice.rows),
        initial=initial_entry(unknown_id) if by_score else None,
        steps=tuple(map(record_step, lattice.steps)),
    )


def _record_row(row: engine.Row, unknown_id: int | None) -> report.LatticeRow:
    return report.LatticeRow(
        best=_record_candidate(row.best, unknown_id),
        competitors=_record_candidates(row.rivals, unknown_id),
        competitors_left_out=row.left_out,
        on_path=row.on_path,
    )


def _record_candidates(candidates: Sequence[engine.Candidate], unknown_id: int | None) -> tuple[report.Candidate, ...]:
    return tuple(_record_candidate(candidate, unknown_id) for candidate in candidates)


def _record_candidate(candidate: engine.Candidate, unknown_id: int | None) -> report.Candidate:
    return report.Candidate(
        span=(candidate.start, candidate.end),
        id=candidate.id,
        piece=candidate.piece,
        weight=candidate.weight,
        total=candidate.total,
        is_unknown=candidate.id == unknown_id,
    )


def _record_matching(matching: engine.Matching) -> report.Matching:
    return report.Matching(tuple(map(_record_attempt, matching.attempts)), matching.spelled)


def _record_attempt(attempt: engine.Attempt) -> report.Attempt:
    found = None if attempt.found is None else to_text(attempt.found)
    return report.Attempt(attempt.start, found, tuple(map(to_text, attempt.missed)), attempt.left_out)


def record_searches(walks: Iterable[CharsmapWalk]) -> tuple[CharsmapSearch, ...]:
    """Record each different search once, with all places where it happens."""
    starts: dict[tuple[int, tuple[WalkStep, ...]], list[int]] = {}
    for walk in walks:
        starts.setdefault((walk.root, walk.steps), []).append(walk.start)
    return tuple(_record_search(root, steps, places) for (root, steps), places in starts.items())


def _record_search(root: int, steps: tuple[WalkStep, ...], starts: Iterable[int]) -> CharsmapSearch:
    endings = [index for index, step in enumerate(steps) if step.replacement is not None]
    recorded = tuple(map(_record_charsmap_step, steps))
    length = endings[-1] + 1 if endings else 0
    return CharsmapSearch(tuple(starts), root, recorded, length, recorded[length - 1].replacement if length else None)


def _record_charsmap_step(step: WalkStep) -> CharsmapStep:
    replacement = None if step.replacement is None else to_text(step.replacement)
    return CharsmapStep(step.byte, step.node, step.label, step.base, replacement)


def initial_entry(unknown_id: int | None) -> LatticeEntry:
    """Return the entry that every position has before the first step."""
    return LatticeEntry(end=0, id=NO_TOKEN if unknown_id is None else unknown_id, start=0, total=LOWEST)


def record_step(step: Step) -> LatticeStep:
    """Record the pieces that start at one position, and all entries after they were tried."""
    entries = tuple(LatticeEntry(entry.end, entry.id, entry.start, entry.total) for entry in step.entries)
    chosen = {(entry.end, entry.start) for entry in entries}
    return LatticeStep(step.start, tuple(_record_trial(trial, chosen) for trial in step.candidates), entries)


def _record_trial(trial: Candidate, chosen: Iterable[tuple[int, int]]) -> LatticeTrial:
    is_best = (trial.end, trial.start) in chosen
    return LatticeTrial(trial.id, trial.piece, trial.end, trial.weight, trial.total, is_best)
