"""Digests that identify how a case fails, or how two tokenizers differ; baselines refer to them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from tokverify.case import Case
from tokverify.report.chat import ChatFinding
from tokverify.report.finding import Finding, Severity
from tokverify.report.run import CaseResult
from tokverify.report.tokenizer_difference import CODES, Aspect, Origin, TokenizerDifference

DIGITS = 16
"""The number of hexadecimal digits of a digest."""


def digest(result: CaseResult) -> str:
    """Return a digest that identifies how a case fails: by the ids on both sides, or by the message."""
    way: list[object] = ["error", result.message]
    if result.difference:
        way = ["ids", result.actual, result.expected, result.expect]
    return _hash(way)


def make_difference(  # noqa: PLR0913 - the optional ones are keywords
    aspect: Aspect,
    severity: Severity,
    message: str,
    ids: Sequence[int] = (),
    *,
    facts: object = None,
    origin: Origin = Origin.UNKNOWN,
    keys: Sequence[str] = (),
    code: str | None = None,
) -> TokenizerDifference:
    """Describe a difference between two tokenizers.

    Args:
        aspect: What differs.
        severity: How serious it is.
        message: One sentence, which may change from version to version.
        ids: All token ids involved.
        facts: Everything that identifies the difference besides its aspect and ids, as values of JSON.
        origin: Whose fault it is, as far as that is proven.
        keys: All GGUF keys involved.
        code: The code of the rule that reports it; by default, that of the aspect.
    """
    return TokenizerDifference(
        aspect=aspect,
        severity=severity,
        message=message,
        origin=origin,
        ids=tuple(ids),
        keys=tuple(keys),
        code=code or CODES.get(aspect),
        digest=_hash(["tokenizers", aspect, ids, facts]),
    )


def digest_finding(code: str, finding: Finding) -> str:
    """Return a digest that identifies what a rule has found in the file itself."""
    return _hash(["tokenizers", Aspect.RULES, finding.ids, [code, finding.message]])


def digest_chat(finding: ChatFinding) -> str:
    """Return a digest that identifies what `chat` has found."""
    return _hash(["chat", finding.kind, finding.template, finding.message])


def digest_suites(cases: Iterable[Case]) -> dict[str, str]:
    """Return a digest of the given cases of each suite, which changes with their texts, options and expectations."""
    suites: dict[str, list[object]] = {}
    for case in cases:
        content = [case.id, case.text, case.add_special, case.parse_special, case.expect]
        suites.setdefault(case.suite, []).append(content)
    return {suite: _hash(contents) for suite, contents in suites.items()}


def _hash(way: list[object]) -> str:
    return hashlib.sha256(json.dumps(way).encode()).hexdigest()[:DIGITS]
