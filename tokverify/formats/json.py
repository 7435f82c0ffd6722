"""The `json` format, for machines: everything in the report, in a fixed order (docs/report.md)."""

from __future__ import annotations

import json
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from tokverify.diff import excerpt
from tokverify.formats.code_point import code_points
from tokverify.report import Status
from tokverify.saved import SCHEMA_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokverify.diagnosis.result import Diagnosis
    from tokverify.diff import Difference
    from tokverify.report import BaselineOutcome, CaseResult, KnownDifference, Report, Side, VocabularyDifference
    from tokverify.tokenizer import Token

_MAX_LINE = 100


def render(report: Report) -> str:
    """Write a report as JSON in ASCII, so that lone surrogates survive; equal reports give equal text."""
    return write(document(report))


def header(kind: str) -> dict[str, object]:
    """Return the keys that say what a report is."""
    return {"schema_version": SCHEMA_VERSIONS[kind], "kind": kind}


def document(report: Report) -> dict[str, object]:
    """Return a report as a JSON object."""
    return {
        **header("run"),
        "versions": dict(sorted(report.versions.items())),
        "options": dict(report.options),
        "actual": side_object(report.actual),
        "expected": side_object(report.expected),
        "summary": _summary(report),
        "vocabulary": None if report.vocabulary is None else _vocabulary(report.vocabulary),
        "diagnosis": _diagnosis(report.diagnosis) if report.diagnosis else None,
        "baseline": _baseline(report.baseline) if report.baseline else None,
        "cases": [_case(result) for result in report.results],
        "tokens": [_pair(*pair) for pair in report.tokens.values()],
    }


def write(document: Mapping[str, object]) -> str:
    """Write a JSON object in ASCII, in the order of its keys; infinite numbers, which JSON lacks, become strings."""
    try:
        return _write(dict(document), "\n") + "\n"
    except ValueError:  # an infinite number, which is rare; looking for it takes as long as writing
        return _write(_finite(dict(document)), "\n") + "\n"


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def _write(value: object, line_break: str) -> str:
    """Write JSON with what is short, and every list of ids, on one line."""
    is_ids = _is_ids(value)
    if is_ids or _least_length(value) <= _MAX_LINE:
        line = json.dumps(value, allow_nan=False)
        if is_ids or len(line) <= _MAX_LINE:
            return line
    inner = line_break + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_write(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(parts)}{line_break}}}"
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(_write(item, inner) for item in value)}{line_break}]"
    return json.dumps(value)


def _least_length(value: object) -> int:
    """Return how long a value is on one line, or less, by a look at a few of its parts."""
    if isinstance(value, str):
        return len(value) + 2
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    if not isinstance(items, list):
        return 1
    length = 0
    for item in items:
        length += _least_length(item) + 2
        if length > _MAX_LINE + 2:
            break
    return length


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) for item in value)


def side_object(side: Side) -> dict[str, object]:
    """Return a side."""
    return {
        "name": side.name,
        "source": side.source,
        "reason": side.reason,
        "caveat": side.caveat,
        "aliases": list(side.aliases),
        "family": side.family,
        "sha256": side.sha256,
        "fingerprint": side.fingerprint,
        "settings": dict(side.settings),
        "overrides": list(side.overrides),
    }


def _summary(report: Report) -> dict[str, object]:
    return {
        "exit_code": report.exit_code,
        "cases": len(report.results),
        **{str(status): report.count(status) for status in Status},
        "decode_differences": report.decode_differences,
        "stopped_early": report.stopped_early,
    }


def _vocabulary(vocabulary: VocabularyDifference) -> dict[str, object]:
    return {
        "equal": not vocabulary,
        "sizes": {"actual": vocabulary.actual_size, "expected": vocabulary.expected_size},
        "pieces": [{"id": piece.id, "actual": piece.actual, "expected": piece.expected} for piece in vocabulary.pieces],
        "respelled": vocabulary.respelled,
        "special_ids": {
            role: {"actual": actual, "expected": expected}
            for role, (actual, expected) in vocabulary.special_ids.items()
        },
    }


def _diagnosis(diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "decoding": diagnosis.decoding,
        "failing": diagnosis.failing,
        "tried": diagnosis.tried,
        "stopped_early": diagnosis.stopped_early,
        "explanations": [
            {
                "kind": explanation.change.kind,
                "sentence": explanation.sentence,
                "explained": explanation.explained,
                "unexplained": list(explanation.unexplained),
                "expressible": explanation.expressible,
                "repair": explanation.repair,
            }
            for explanation in diagnosis.explanations
        ],
    }


def _baseline(baseline: BaselineOutcome) -> dict[str, object]:
    return {
        "source": baseline.source,
        "fixed": list(map(_known, baseline.fixed)),
        "not_run": list(map(_known, baseline.not_run)),
    }


def _known(entry: KnownDifference) -> dict[str, object]:
    return {
        "case": entry.case,
        "difference": entry.difference,
        "reason": entry.reason,
        "expires": entry.expires and entry.expires.isoformat(),
        "model": entry.model,
        "about": entry.about,
        "place": entry.place,
    }


def _case(result: CaseResult) -> dict[str, object]:
    case = result.case
    told: dict[str, object] = {
        "suite": case.suite,
        "id": case.id,
        "file": case.file,
        "line": case.line,
        "tags": list(case.tags),
        "note": case.note,
        "text": case.text,
        "status": str(result.status),
        "add_special": result.add_special,
        "parse_special": result.parse_special,
        "asked": {"add_special": case.add_special, "parse_special": case.parse_special},
        "message": result.message,
        "notes": list(result.notes),
        "refusals": list(result.refusals),
        "ids": {"actual": list(result.actual), "expected": list(result.expected)},
        "expect": None if result.expect is None else list(result.expect),
        "expectations": {name: list(tokens) for name, tokens in case.expect.items()},
        "known": _known(result.known) if result.known else None,
    }
    if result.difference:
        told["difference"] = difference_object(result.difference)
    if result.decode_difference:
        actual, expected = result.decode_difference
        told["decoded"] = {"actual": bytes_object(actual), "expected": bytes_object(expected)}
    return told


def difference_object(difference: Difference) -> dict[str, object]:
    """Return where two tokenizations part, and all of both."""
    first, shown = difference.first, excerpt(difference)
    return {
        "first": {
            "token_index": first.token_index,
            "byte_offset": first.byte_offset,
            "before": shown.before,
            "actual": code_points(shown.actual),
            "expected": code_points(shown.expected),
        },
        "blocks": [
            {"equal": block.equal, "actual": token_objects(block.actual), "expected": token_objects(block.expected)}
            for block in difference.blocks
        ],
    }


def token_objects(tokens: Sequence[Token]) -> list[Mapping[str, object]]:
    """Return tokens."""
    return list(map(_token, tokens))


# The same few tokens come again and again; a dictionary for each would fill the memory.
@lru_cache(maxsize=10_000)
def _token(token: Token) -> Mapping[str, object]:
    return {"id": token.id, "piece": token.piece, "bytes": token.token_bytes.hex()}


def _pair(actual: Token, expected: Token) -> Mapping[str, object]:
    told = _token(actual)
    return told if actual == expected else {**told, "expected": _token(expected)}


def bytes_object(data: bytes) -> dict[str, str]:
    """Return bytes as text, as far as they are UTF-8, and exactly."""
    return {"text": data.decode("utf-8", "replace"), "bytes": data.hex()}
