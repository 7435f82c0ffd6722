"""Problem: what a diagnosis has to explain: cases whose ids differ, or if none do, cases that decode differently."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from tokverify.diagnosis.counterfactual import COUNTERFACTUALS, DECODING_COUNTERFACTUALS
from tokverify.diagnosis.evidence import DecodingEvidence, DecodingTarget, Evidence, Goal, Target
from tokverify.errors import TokverifyError
from tokverify.report.run import Status

if TYPE_CHECKING:
    from tokverify.diagnosis.change import TokenizerChange
    from tokverify.diagnosis.facts import Facts
    from tokverify.engine.encoder import Encoder
    from tokverify.report.run import CaseResult
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

_Goal = TypeVar("_Goal", bound=Goal)
_LEFT_OUT = frozenset({Status.SKIPPED, Status.KNOWN})
"""What is accepted as it is, known differences, is neither to be explained nor to be kept."""


@dataclass(frozen=True, slots=True)
class Problem(Generic[_Goal]):
    """What differs.

    `failing` is to be put right, and `controls` must stay as they are. `changes` makes those worth trying of a spec,
    its encoder if it has one, and what of `failing` it leaves. `decoding` is True where ids are equal on both sides.
    """

    failing: Sequence[_Goal]
    controls: Sequence[Goal]
    changes: Callable[[TokenizerSpec, Encoder | None, Sequence[_Goal]], Iterator[TokenizerChange]]
    decoding: bool = False


def id_problem(results: Sequence[CaseResult], facts: Facts) -> Problem[Target] | None:
    """Return what differs in ids; None if nothing does that a change of our side could put right."""
    failing, matching = _targets(results, facts.expected)
    return Problem(failing, matching, partial(_id_changes, facts)) if failing else None


def _id_changes(
    facts: Facts, spec: TokenizerSpec, encoder: Encoder | None, left: Sequence[Target]
) -> Iterator[TokenizerChange]:
    evidence = Evidence(spec, encoder, facts, left)
    for generate in COUNTERFACTUALS.values():
        yield from generate(evidence)


def _targets(results: Sequence[CaseResult], expected: Tokenizer | None) -> tuple[list[Target], list[Target]]:
    failing: list[Target] = []
    matching: list[Target] = []
    for result in results:
        target = _target(result)
        if result.status is Status.ERROR:
            ids = _expected_ids(target, expected)
            if ids is not None:
                failing.append(replace(target, expected=ids))
        elif result.status not in _LEFT_OUT and result.actual == result.expected:
            matching.append(target)
        elif result.status not in _LEFT_OUT and result.can_match:
            failing.append(target)
    return failing, matching


def _target(result: CaseResult) -> Target:
    return Target(result.name, result.case.text, result.add_special, result.parse_special, tuple(result.expected))


def _expected_ids(target: Target, expected: Tokenizer | None) -> tuple[int, ...] | None:
    if expected is None:
        return None
    try:
        ids = expected.encode(target.text, add_special=target.add_special, parse_special=target.parse_special)
    except TokverifyError:
        return None
    return tuple(ids)


def decoding_problem(results: Sequence[CaseResult], facts: Facts, encoder: Encoder) -> Problem[DecodingTarget] | None:
    """Return what decodes differently, all ids being equal; None if nothing does."""
    clean_up = facts.expected is not None and facts.expected.decodes_as_llama_cpp
    failing: list[DecodingTarget] = []
    controls: list[Goal] = []
    for result in results:
        if result.status in _LEFT_OUT:
            continue
        target = _target(result)
        controls.append(target)
        decoding = DecodingTarget(target.name, target.expected, clean_up, b"")
        if result.decode_difference:
            failing.append(replace(decoding, expected=result.decode_difference[1]))
        else:
            controls.append(replace(decoding, expected=decoding.outcome(encoder) or b""))
    return Problem(failing, controls, partial(_decoding_changes, facts), decoding=True) if failing else None


def _decoding_changes(
    facts: Facts, spec: TokenizerSpec, encoder: Encoder | None, left: Sequence[DecodingTarget]
) -> Iterator[TokenizerChange]:
    if encoder is None:
        return
    evidence = DecodingEvidence(spec, encoder, facts, left)
    for generate in DECODING_COUNTERFACTUALS.values():
        yield from generate(evidence)
