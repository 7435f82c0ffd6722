"""What a diagnosis has to explain, and the kinds of changes that it tries, the simplest first.

It explains cases whose ids differ or, if there are none, decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from tokverify.compare.limits import LIMITS
from tokverify.compare.limits.sides import Sides
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.repair import (
    added_token_change,
    array_change,
    convention_change,
    cost,
    decoding_change,
    extra_token_change,
    move_change,
    piece_change,
    probed_type_change,
    program_change,
    setting_change,
    shift_change,
    type_change,
)
from tokverify.repair.change import TokenizerChange
from tokverify.repair.declared_change import declared_changes
from tokverify.repair.evidence import DecodingEvidence, DecodingTarget, Evidence, Goal, Target
from tokverify.report.run import CaseResult, Status, can_match
from tokverify.spec import TokenizerSpec
from tokverify.tokenizer import Tokenizer

_Goal = TypeVar("_Goal", bound=Goal)
Changes: TypeAlias = "Mapping[str, Iterator[TokenizerChange]]"
"""The changes of each kind, the kind to try first coming first; nothing is generated before it is needed."""
_IGNORED = frozenset({Status.SKIPPED, Status.KNOWN})
"""Known differences need not be explained or preserved."""


def limits(evidence: Evidence) -> Iterator[TokenizerChange]:
    """Do what llama.cpp does not, one thing at a time, to be combined with a change to the file.

    GGUF cannot express these changes. They help only together with a change to the file: cases that limits alone
    explain are not searched for.
    """
    if evidence.encoder is None or not evidence.encoder.settings.family.in_llama_cpp:
        return
    sides = Sides(evidence.encoder, evidence.facts)
    texts = [each.as_text() for each in evidence.targets]
    for limit in LIMITS.values():
        for found in limit.find(sides):
            if any(map(found.applies_to, texts)):
                yield TokenizerChange(
                    kind=limit.name,
                    sentence=found.sentence,
                    cost=cost.discount(cost.RUNTIME, confirmed=not found.is_guess),
                    deviation=found.deviation,
                )


COUNTERFACTUALS: Mapping[str, Callable[[Evidence], Iterator[TokenizerChange]]] = {
    "surplus values": array_change.surplus_values,
    "undamaged texts": piece_change.undamaged_texts,
    "flags": setting_change.flags,
    "special ids": setting_change.special_ids,
    "mistyped values": array_change.mistyped_values,
    "rewritten texts": program_change.rewritten_texts,
    "cut ids": program_change.cut_ids,
    "shift": shift_change.shifts,
    "types": type_change.types,
    "texts": piece_change.reference_texts,
    "conventional texts": piece_change.conventional_texts,
    "lost bytes": piece_change.lost_bytes,
    "order of bytes": piece_change.ordered_bytes,
    "texts by bytes": piece_change.texts_by_bytes,
    "placeholders": added_token_change.placeholders_by_bytes,
    "placeholders by ids": added_token_change.placeholders_by_ids,
    "moves": move_change.moves,
    "extra tokens": extra_token_change.extra_tokens,
    "added tokens": added_token_change.reference_tokens,
    "name": setting_change.names,
    "charsmap": array_change.charsmaps,
    "pre-tokenizer": setting_change.pre_tokenizers,
    "merges": array_change.merges,
    "scores": array_change.scores,
    "model": array_change.models,
    "added tokens by bytes": added_token_change.tokens_by_bytes,
    "moves by ids": move_change.moves_by_ids,
    "conventional model": convention_change.models,
    "conventional merges": convention_change.merges,
    "conventional scores": convention_change.scores,
    "conventional charsmap": convention_change.charsmaps,
    "probed types": probed_type_change.probed_types,
    "limits": limits,
}
"""The functions that derive changes to try from the evidence, if ids differ. A new kind is one function and one row."""

DECODING_COUNTERFACTUALS: Mapping[str, Callable[[DecodingEvidence], Iterator[TokenizerChange]]] = {
    "flags": setting_change.decoding_flags,
    "types": decoding_change.types,
    "pre-tokenizer": decoding_change.pre_tokenizers,
    "texts": decoding_change.texts,
    "special tokens": decoding_change.special_tokens,
    "words": decoding_change.words,
}
"""The functions to use if all ids are equal but some of them decode to different bytes."""


@dataclass(frozen=True, slots=True)
class Problem(Generic[_Goal]):
    """What differs, and how to look for an explanation."""

    failing: Sequence[_Goal]
    """The goals to reach."""
    controls: Sequence[Goal]
    """The goals that are already reached and must remain so."""
    changes: Callable[[TokenizerSpec, Encoder | None, Sequence[_Goal]], Changes]
    """Generates changes to try, given a spec, its encoder (None if it is refused), and the goals not reached yet."""
    declared: Callable[[], Sequence[TokenizerChange]] = tuple
    """Returns all changes that together lead to what the reference declares; they take long to find."""
    decoding: bool = False
    """Whether the ids are equal on both sides."""


def id_problem(
    spec: TokenizerSpec, encoder: Encoder | None, results: Sequence[CaseResult], facts: Opened
) -> Problem[Target] | None:
    """Return the cases whose ids differ; None if there is none that a change on our side could fix."""
    failing, matching = _targets(results, facts.tokenizer)
    if not failing:
        return None
    declared = partial(declared_changes, spec, encoder, facts)
    return Problem(failing, matching, partial(_id_changes, facts), declared)


def _id_changes(facts: Opened, spec: TokenizerSpec, encoder: Encoder | None, left: Sequence[Target]) -> Changes:
    evidence = Evidence(spec, encoder, facts, left)
    return {name: generate(evidence) for name, generate in COUNTERFACTUALS.items()}


def _targets(results: Sequence[CaseResult], expected: Tokenizer | None) -> tuple[list[Target], list[Target]]:
    failing: list[Target] = []
    matching: list[Target] = []
    for result in results:
        target = _target(result)
        if result.status is Status.ERROR:
            ids = target.outcome(expected) if expected else None
            if ids is not None:
                failing.append(replace(target, expected=ids))
        elif result.status not in _IGNORED and result.actual == result.expected:
            matching.append(target)
        elif result.fails and can_match(result):
            failing.append(target)
    return failing, matching


def _target(result: CaseResult) -> Target:
    return Target(result.case.name, result.case.text, result.add_special, result.parse_special, tuple(result.expected))


def decoding_problem(results: Sequence[CaseResult], facts: Opened, encoder: Encoder) -> Problem[DecodingTarget] | None:
    """Return the cases that decode differently although all ids are equal; None if there is none."""
    clean_up = facts.tokenizer is not None and facts.tokenizer.decodes_as_llama_cpp
    failing: list[DecodingTarget] = []
    controls: list[Goal] = []
    for result in results:
        if result.status in _IGNORED:
            continue
        target = _target(result)
        if result.actual == result.expected:
            controls.append(target)
        decoding = DecodingTarget(target.name, target.expected, clean_up, b"")
        if result.decode_difference:
            failing.append(replace(decoding, expected=result.decode_difference.expected))
        else:
            controls.append(replace(decoding, expected=decoding.outcome(encoder) or b""))
    return Problem(failing, controls, partial(_decoding_changes, facts), decoding=True) if failing else None


def _decoding_changes(
    facts: Opened, spec: TokenizerSpec, encoder: Encoder | None, left: Sequence[DecodingTarget]
) -> Changes:
    if encoder is None:
        return {}
    evidence = DecodingEvidence(spec, encoder, facts, left)
    return {name: generate(evidence) for name, generate in DECODING_COUNTERFACTUALS.items()}
