"""Explain cases that differ by limits: by encoders that deviate from llama.cpp in exactly these ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial, reduce
from itertools import chain, combinations
from typing import TypeAlias

from tokverify.compare.limits import LIMITS
from tokverify.compare.limits.limit import Counterfactual, Limit, Text
from tokverify.compare.limits.sides import Sides
from tokverify.compare.opened import Opened
from tokverify.engine.deviating_encoder import DeviatingEncoder
from tokverify.engine.deviation import Deviation
from tokverify.engine.encoder import Encoder
from tokverify.errors import TokverifyError, answer_or
from tokverify.report.run import AppliedLimit, CaseResult, Status
from tokverify.report.tokenizer_difference import Origin
from tokverify.tokenizer import Tokenizer

_LONG = 100_000
"""In characters; for longer texts, only single limits and all together are tried."""
_KNOWN_TEXTS = 2_000


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    limit: Limit
    counterfactual: Counterfactual

    @property
    def details(self) -> tuple[str, Origin]:
        """What llama.cpp does, and where the difference comes from."""
        found = self.counterfactual
        try:
            return found.details() if found.details else (found.reason, self.limit.origin)
        except TokverifyError:
            # The reference may have stopped answering.
            return found.reason, self.limit.origin


_Chosen: TypeAlias = tuple[_Candidate, ...]
_Encode: TypeAlias = Callable[[_Chosen], tuple[int, ...] | None]
"""Returns the ids of a text without some limits."""


def explainer_of(actual: Tokenizer, facts: Opened) -> Explainer:
    """Return what explains cases; it explains none unless our side is a file for llama.cpp, and the other is not."""
    # What another GGUF file or llama.cpp itself does is no limit.
    if facts.tokenizer is None or facts.is_llama_cpp:
        return Explainer()
    if not isinstance(actual, Encoder) or not actual.settings.family.in_llama_cpp:
        return Explainer()
    return _known_explainer(actual, facts)


# A report is made first, and then its diagnosis, which begins with the same cases.
@lru_cache(maxsize=2)
def _known_explainer(actual: Encoder, facts: Opened) -> Explainer:
    return Explainer(Sides(actual, facts))


class Explainer:
    """Explains the cases that differ, one after the other; nothing is built before a case needs it.

    Args:
        sides: What is known of both sides; None if no limit can explain anything.
    """

    def __init__(self, sides: Sides | None = None) -> None:
        self._sides = sides
        self._found: dict[str, list[_Candidate]] = {}
        self._encoders: dict[_Chosen, Encoder | None] = {}
        self._used: dict[str, _Candidate] = {}
        # A repair begins with the cases of the report before it.
        self._explain = lru_cache(_KNOWN_TEXTS)(self._explain_anew)

    def explain(self, result: CaseResult) -> CaseResult:
        """Return a result with the limits that explain it completely, if there are any.

        A case that expects something itself is not explained: whoever wrote it has decided what is right.
        """
        differs = result.status is Status.MISMATCH and result.actual != result.expected
        if not differs or result.expect is not None:
            return result
        found = self.find(Text(result.case.text, result.add_special, result.parse_special, result.expected))
        return result if found == result.explained_by else replace(result, explained_by=found)

    def find(self, target: Text) -> tuple[str, ...]:
        """Return the codes of the limits that, together, explain a text completely; none if they do not."""
        # Several counterfactuals of one limit count once.
        by_code = {candidate.limit.code: candidate for candidate in self._explain(target)}
        self._used = {**by_code, **self._used}
        return tuple(sorted(by_code))

    def describe(self, codes: Iterable[str]) -> str:
        """Name limits that have explained something, with what llama.cpp does."""
        return "; ".join(f"{self._used[code].details[0]} ({code})" for code in codes)

    def applied_to(self, results: Iterable[CaseResult]) -> tuple[AppliedLimit, ...]:
        """Describe the limits that explain cases among these results."""
        return self.count(result.explained_by for result in results)

    def count(self, explained: Iterable[Collection[str]]) -> tuple[AppliedLimit, ...]:
        """Describe limits, given the codes that explain each of some texts."""
        return self.describe_counts(Counter(chain.from_iterable(explained)))

    def describe_counts(self, counts: Mapping[str, int]) -> tuple[AppliedLimit, ...]:
        """Describe limits, given how many texts each of them explains; other processes may have explained them."""
        # The candidates are only looked for if they are needed: the reference may have stopped answering.
        others = [] if self._used.keys() >= counts.keys() else [*self._candidates()]
        first = {candidate.limit.code: candidate for candidate in reversed(others)}
        return tuple(_describe(self._used.get(code) or first[code], counts[code]) for code in sorted(counts))

    @property
    def used(self) -> Collection[str]:
        """The codes of the limits that have explained something so far."""
        return self._used.keys()

    def _candidates(self) -> Iterator[_Candidate]:
        """Yield what limits do here; each limit is looked for when its turn comes, and then remembered."""
        if self._sides is None:
            return
        for limit in LIMITS.values():
            if limit.code not in self._found:
                self._found[limit.code] = [_Candidate(limit, found) for found in limit.find(self._sides)]
            yield from self._found[limit.code]

    def _explain_anew(self, target: Text) -> _Chosen:
        """Return the fewest limits that lead to the expected ids; the most specific ones, if there is a choice."""
        encode = cache(partial(self._encode, target))
        applicable: list[_Candidate] = []
        for candidate in self._candidates():
            if candidate.counterfactual.applies_to(target):
                if encode((candidate,)) == target.expected:
                    return (candidate,)
                applicable.append(candidate)
        applicable = self._with_normalized(applicable, target)
        for chosen in _combine(applicable, encode, is_long=len(target.text) > _LONG):
            if encode(chosen) == target.expected:
                return _prune(chosen, lambda rest: encode(rest) == target.expected)
        return ()

    def _with_normalized(self, applicable: Sequence[_Candidate], target: Text) -> list[_Candidate]:
        """Add the limits that can change the ids of what the reference's normalizers make of a text."""
        forms = dict.fromkeys(_normalize(each.counterfactual.deviation, target.text) for each in applicable)
        others = [target._replace(text=form) for form in forms if form != target.text]
        return [
            each
            for each in self._candidates()
            if each in applicable or any(map(each.counterfactual.applies_to, others))
        ]

    def _encode(self, target: Text, chosen: _Chosen) -> tuple[int, ...] | None:
        """Return the ids of a text if llama.cpp had none of these limits; None if that cannot be encoded."""
        encoder = self._encoder(chosen)
        return target.encode(encoder) if encoder else None

    def _encoder(self, chosen: _Chosen) -> Encoder | None:
        if not chosen:
            return self._sides.encoder if self._sides else None
        if chosen not in self._encoders:
            self._encoders[chosen] = answer_or(None, self._deviate, chosen)
        return self._encoders[chosen]

    def _deviate(self, chosen: _Chosen) -> Encoder | None:
        if self._sides is None:
            return None
        deviation = reduce(Deviation.combine, (each.counterfactual.deviation for each in chosen))
        # To change the model takes long, and most combinations differ in what is around it.
        inner = tuple(each for each in chosen if not each.counterfactual.deviation.keeps_model)
        alike = self._encoder(inner) if inner and inner != chosen else None
        return DeviatingEncoder.of(self._sides.encoder, deviation, alike)


def _normalize(deviation: Deviation, text: str) -> str:
    """Return what a deviation makes of a text before anything else; the text itself if it fails."""
    return answer_or(text, lambda: reduce(lambda done, normalize: normalize(done), deviation.normalizers, text))


def _combine(applicable: Sequence[_Candidate], encode: _Encode, *, is_long: bool) -> Iterator[_Chosen]:
    """Yield combinations of limits: all that are declared; then, unless a text is long, two and three of them.

    Of two limits that change no ids alone, it is assumed that they change none together; and of a limit that changes
    none beside another one, either, that it is not one of three.
    """
    declared = tuple(each for each in applicable if not each.counterfactual.is_guess)
    if len(declared) > 1:
        # subtle: of two deviations that contradict each other, the later one counts, so the specific ones go last.
        yield declared[::-1]
    if is_long:
        return
    effective = {each for each in applicable if encode((each,)) != encode(())}
    pairs = [pair[::-1] for pair in combinations(applicable, 2) if not effective.isdisjoint(pair)]
    yield from pairs
    for first, second in pairs:
        ids = encode((first, second))
        effective |= {each for each, other in ((first, second), (second, first)) if ids != encode((other,))}
    yield from (chosen[::-1] for chosen in combinations([each for each in applicable if each in effective], 3))


def _prune(chosen: _Chosen, suffices: Callable[[_Chosen], bool]) -> _Chosen:
    """Drop each limit without which the others still suffice, the least specific first."""
    for candidate in reversed(chosen):
        rest = tuple(each for each in chosen if each is not candidate)
        if rest and suffices(rest):
            chosen = rest
    return chosen


def _describe(candidate: _Candidate, cases: int) -> AppliedLimit:
    limit = candidate.limit
    reason, origin = candidate.details
    return AppliedLimit(
        code=limit.code,
        name=limit.name,
        origin=origin,
        severity=limit.severity,
        message=reason,
        cases=cases,
        advice=limit.advice,
    )
