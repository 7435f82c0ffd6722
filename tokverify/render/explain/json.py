"""Explain for machines: everything that was traced, in a fixed order (docs/explain.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.engine.trace import Lattice, Match, Matching, Merging
from tokverify.render.json import bytes_object, write

if TYPE_CHECKING:
    from tokverify.engine.rewriting import Change
    from tokverify.engine.trace import Attempt, Candidate, Hit, How, Join, Pair, PreToken, Row, Stretch, Word
    from tokverify.explain.explanation import ExplainedToken, Explanation
    from tokverify.explain.stages import Parting
    from tokverify.tokenizer import Token

SCHEMA_VERSION = 1


def render(explained: Explanation) -> str:
    """Write an explanation as JSON in ASCII; equal explanations give equal text."""
    return write(document(explained))


def document(explained: Explanation) -> dict[str, object]:
    """Return an explanation as a JSON object."""
    trace = explained.trace
    return {
        "schema_version": SCHEMA_VERSION,
        "text": explained.text,
        "model": {"name": explained.name, "algorithm": explained.algorithm, "pre": explained.pre},
        "add_special": explained.add_special,
        "parse_special": explained.parse_special,
        "warnings": list(explained.warnings),
        "prefix": list(trace.prefix),
        "fragments": [
            _match(explained, fragment) if isinstance(fragment, Match) else _stretch(explained, fragment)
            for fragment in trace.fragments
        ],
        "suffix": list(trace.suffix),
        "without_user_defined": None if explained.unsplit is None else [token.id for token in explained.unsplit],
        "ids": explained.ids,
        "tokens": [_token(token) for token in explained.tokens],
        "reference": _reference(explained.parting) if explained.parting else None,
    }


def _match(explained: Explanation, match: Match) -> dict[str, object]:
    told = explained.added[match.id]
    return {
        "added_token": match.id,
        "piece": explained.pieces[match.id],
        "span": [match.start, match.end],
        "type": told.type,
        "not_a_piece": told.missing,
    }


def _stretch(explained: Explanation, stretch: Stretch) -> dict[str, object]:
    trace = stretch.trace
    return {
        "text": stretch.text,
        "span": [stretch.start, stretch.end],
        "normalized": bytes_object(trace.rewriting.result),
        "changes": [_change(change) for change in trace.rewriting.changes],
        "pre_tokens": [_pre_token(stretch, pre_token) for pre_token in trace.pre_tokens],
        "words": [_word(explained, stretch, word) for word in trace.words],
    }


def _change(change: Change) -> dict[str, object]:
    return {"span": list(change.span), "before": bytes_object(change.before), "after": bytes_object(change.after)}


def _pre_token(stretch: Stretch, pre_token: PreToken) -> dict[str, object]:
    data = stretch.trace.rewriting.result[pre_token.start : pre_token.end]
    return {
        "span": [pre_token.start, pre_token.end],
        **bytes_object(data),
        "made_by": None if pre_token.hit is None else _hit(pre_token.hit),
    }


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "pattern_index": hit.pattern_index,
        "pattern": hit.pattern,
        "alternative_index": hit.alternative_index,
        "alternative": hit.alternative or None,
    }


def _word(explained: Explanation, stretch: Stretch, word: Word) -> dict[str, object]:
    return {
        "span": [word.start, word.end],
        **bytes_object(stretch.trace.rewriting.result[word.start : word.end]),
        "pre_token": word.pre_token,
        "ids": [taken.id for taken in word.tokens],
        "pieces": [explained.pieces[taken.id] for taken in word.tokens],
        **_how(word.how),
    }


def _how(how: How) -> dict[str, object]:
    if isinstance(how, Merging):
        return {
            "symbols": list(how.symbols),
            "merges": [_join(join, how.by) for join in how.joins],
            "no_pieces": [{"symbol": spelled.symbol, "ids": list(spelled.ids)} for spelled in how.spelled],
        }
    if isinstance(how, Lattice):
        return {"lattice": [_row(row, how.by) for row in how.rows]}
    if isinstance(how, Matching):
        return {"spelled": how.spelled, "attempts": [_attempt(attempt) for attempt in how.attempts]}
    return {"reason": how.reason}


def _join(join: Join, by: str) -> dict[str, object]:
    return {
        "symbol_index": join.index,
        **_pair(join.pair, by),
        "competitors": [_pair(pair, by) for pair in join.rivals],
        "competitors_left_out": join.left_out,
    }


def _pair(pair: Pair, by: str) -> dict[str, object]:
    return {"left": pair.left, "right": pair.right, by: pair.weight, "places": pair.places}


def _row(row: Row, by: str) -> dict[str, object]:
    return {
        "taken": row.on_path,
        **_candidate(row.best, by),
        "challenged": [_candidate(rival, by) for rival in row.rivals],
        "challenged_left_out": row.left_out,
    }


def _candidate(candidate: Candidate, by: str) -> dict[str, object]:
    return {
        "start": candidate.start,
        "end": candidate.end,
        "id": candidate.id,
        "piece": candidate.piece,
        by: candidate.weight,
        "sum": candidate.total,
    }


def _attempt(attempt: Attempt) -> dict[str, object]:
    return {
        "start": attempt.start,
        "found": None if attempt.found is None else bytes_object(attempt.found),
        "no_pieces": [bytes_object(missed) for missed in attempt.missed],
        "no_pieces_left_out": attempt.left_out,
    }


def _token(explained: ExplainedToken) -> dict[str, object]:
    return {**_plain_token(explained.token), "span": list(explained.span), "source": explained.source}


def _plain_token(token: Token) -> dict[str, object]:
    return {"id": token.id, "piece": token.piece, "bytes": token.token_bytes.hex()}


def _reference(parting: Parting) -> dict[str, object]:
    return {
        "name": parting.name,
        "ids": [token.id for token in parting.tokens],
        "tokens": [_plain_token(token) for token in parting.tokens],
        "first_stage_to_part": parting.first,
        "differing_tokens": sorted(parting.differing),
        "stages": [
            {
                "stage": stage.stage,
                "outcome": str(stage.outcome),
                "actual": list(stage.actual),
                "expected": list(stage.expected),
                "note": stage.note or None,
            }
            for stage in parting.stages
        ],
        "notes": list(parting.notes),
    }
