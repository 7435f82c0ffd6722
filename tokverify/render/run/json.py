"""The `json` format of `tokverify run`: everything in the report, in a fixed order (docs/report.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokverify.render.json import bytes_object, difference_object, header, side_object, token_object, write
from tokverify.report.run import Status

if TYPE_CHECKING:
    from tokverify.report.diagnosis import Diagnosis
    from tokverify.report.run import BaselineOutcome, CaseResult, KnownDifference, Report, VocabularyDifference
    from tokverify.tokenizer import Token


def render(report: Report) -> str:
    """Write a report as JSON; equal reports give equal text."""
    return write(document(report))


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
                "kind": explanation.kind,
                "sentence": explanation.sentence,
                "explained": explanation.explained,
                "unexplained": list(explanation.unexplained),
                "expressible": explanation.expressible,
                "repair": explanation.gguf_command,
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
        actual, expected = result.decode_difference.actual, result.decode_difference.expected
        told["decoded"] = {"actual": bytes_object(actual), "expected": bytes_object(expected)}
    return told


def _pair(actual: Token, expected: Token) -> Mapping[str, object]:
    told = token_object(actual)
    return told if actual == expected else {**told, "expected": token_object(expected)}
