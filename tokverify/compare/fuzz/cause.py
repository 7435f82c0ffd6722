"""Causes: shrink the samples that differ to minimal ones, and group them by the reason why they differ.

Two failing samples have the same cause if the same ids are replaced by the same ids in both, or if one of them passes
once the minimal text of the other is removed from it. If it still fails, the rest is shrunk to a text that contains no
minimal text found so far, and the ids of that text determine its cause.

One fault can affect thousands of characters or words, each a separate cause by these rules. So of the causes whose
minimal texts are similar (characters of the same Unicode categories in the same order), only `MAX_ALIKE` are listed;
from then on, digits and non-ASCII characters are treated as equal if their categories are. Samples beyond a limit are
still counted.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from tokverify.compare.fuzz.case_result import make_case_result
from tokverify.compare.fuzz.trial import Trial, TrialOutcome
from tokverify.report.fuzz import DecodedBytes, DifferenceKind, FoundText, FuzzCause
from tokverify.report.run import CaseResult
from tokverify.text.visible import visible
from tokverify.text.wording import plural
from tokverify.texts.sample import Sample
from tokverify.texts.shrink import shrink
from tokverify.tokenizer import HexBytes

MAX_CAUSES = 100
MAX_ALIKE = 3
MAX_SHRINKS = 500
MAX_STEPS = 20_000

_SHOWN_CHARACTERS = 100
_SHOWN_OTHERS = 3


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason why two tokenizers differ."""

    outcome: TrialOutcome
    """The outcome of the minimal sample."""

    result: CaseResult
    """The same, for a report."""

    found: Sample
    """The first sample with this cause."""

    generator: str
    """The generator that made it."""

    strings: int = 1
    """The number of samples with this cause."""

    explanation: str = ""
    """The change to the tokenizer that explains it, if one is known."""

    others: tuple[Sample, ...] = ()
    """Other minimal samples that the same change explains."""

    def to_report(self) -> FuzzCause:
        """Convert the cause to report data."""
        decoded = None
        if self.outcome.kind is DifferenceKind.DECODING and not self.outcome.message:
            decoded = DecodedBytes(HexBytes(self.outcome.actual), HexBytes(self.outcome.expected))
        return FuzzCause(
            case=self.result.case.id,
            kind=self.outcome.kind,
            strings=self.strings,
            generator=self.generator,
            found=FoundText(*self.found),
            decoded=decoded,
            explanation=self.explanation,
            others=tuple(FoundText(*sample) for sample in self.others),
        )

    def described(self) -> CaseResult:
        """Return the result for a report, with notes on the texts that showed the cause."""
        return replace(self.result, notes=tuple(_describe_texts(self)))


@dataclass(frozen=True, slots=True)
class _Known:
    """A minimal outcome, and what is asked about it for each text that is shrunk."""

    outcome: TrialOutcome
    shape: str
    categories: str


class Causes:
    """Groups outcomes of a trial by cause; the first sample added represents its cause.

    Args:
        trial: What compares samples.
        is_known: Whether an outcome has a known cause that is not to be found here, such as a limit of llama.cpp.
    """

    def __init__(self, trial: Trial, is_known: Callable[[TrialOutcome], bool] = lambda _: False) -> None:
        self._trial = trial
        self._is_known = is_known
        self._found: list[Cause] = []
        self._known: list[_Known] = []
        self._index_of: dict[Hashable, int | None] = {}
        self._alike: Counter[str] = Counter()
        self._shrinks = self._steps = 0
        self.unlisted: list[Sample] = []

    @property
    def listed(self) -> tuple[Cause, ...]:
        """The causes in the order they were found."""
        return tuple(self._found)

    def add(self, outcome: TrialOutcome, generator: str) -> None:
        """Count an outcome towards its cause, which may be a new one, or as unlisted."""
        key = outcome.fingerprint
        if key not in self._index_of:
            self._index_of[key] = self._find_cause(outcome, generator)
        index = self._index_of[key]
        if index is None:
            self.unlisted.append(outcome.sample)
        else:
            self._found[index] = replace(self._found[index], strings=self._found[index].strings + 1)

    def _find_cause(self, outcome: TrialOutcome, generator: str) -> int | None:
        """Return the index of the cause; a new one has no strings yet. None if the cause cannot be listed."""
        known, rest = self._remove_known(outcome)
        if known and not self._fails(rest, outcome.kind):
            return self._index_of[known[0].fingerprint]
        if self._shrinks >= MAX_SHRINKS or self._steps >= MAX_STEPS:
            return None
        self._shrinks += 1
        minimal = self._trial.outcome(shrink(rest, lambda sample: self._has_new_failure(sample, outcome.kind)))
        # The reference does not return the same ids twice.
        if minimal is None:
            return None
        if minimal.fingerprint not in self._index_of:
            self._index_of[minimal.fingerprint] = self._add_cause(minimal, outcome.sample, generator)
        return self._index_of[minimal.fingerprint]

    def _remove_known(self, outcome: TrialOutcome) -> tuple[list[TrialOutcome], Sample]:
        """Remove the minimal texts of known causes; return the outcomes of those found, and the remaining sample."""
        alike = [known for known in self._known if known.outcome.kind is outcome.kind]
        found: list[TrialOutcome] = []
        sample = outcome.sample
        # subtle: after something is removed, the rest can join to form another minimal text.
        while inside := [known for known in alike if self._remove(sample, known) != sample]:
            found += [known.outcome for known in inside]
            for known in inside:
                sample = self._remove(sample, known)
        return found, sample

    def _remove(self, sample: Sample, known: _Known) -> Sample:
        """Remove every occurrence of the minimal text of a known cause."""
        minimal, text = known.outcome.sample, sample.text
        if not minimal.text or minimal.add_special > sample.add_special:
            return sample
        if minimal.parse_special > sample.parse_special and self._trial.modes.parses_special:
            return sample
        if self._alike[known.shape] > MAX_ALIKE:
            while (at := _by_category(text).find(known.categories)) >= 0:
                text = text[:at] + text[at + len(minimal.text) :]
        else:
            while (at := text.find(minimal.text)) >= 0:
                text = text[:at] + text[at + len(minimal.text) :]
        return sample if text == sample.text else sample._replace(text=text)

    def _fails(self, sample: Sample, kind: DifferenceKind) -> bool:
        outcome = self._trial.outcome(sample)
        return outcome is not None and outcome.kind is kind

    def _has_new_failure(self, sample: Sample, kind: DifferenceKind) -> bool:
        """Check whether a sample fails without containing a known cause, because it would shrink to that cause."""
        self._steps += 1
        outcome = self._trial.outcome(sample)
        if outcome is None or outcome.kind is not kind or self._remove_known(outcome)[0]:
            return False
        return not self._is_known(outcome)

    def _add_cause(self, minimal: TrialOutcome, found: Sample, generator: str) -> int | None:
        shape = f"{minimal.kind}: {''.join(map(unicodedata.category, minimal.sample.text))}"
        self._alike[shape] += 1
        if self._alike[shape] > MAX_ALIKE or len(self._found) >= MAX_CAUSES:
            return None
        self._known.append(_Known(minimal, shape, _by_category(minimal.sample.text)))
        result = make_case_result(minimal, self._trial, suite="found", tags=("fuzz", generator))
        self._found.append(Cause(minimal, result, found, generator, strings=0))
        return len(self._found) - 1


def _describe_texts(cause: Cause) -> Iterator[str]:
    first = _show(cause.found.text)
    yield f"found in {plural(cause.strings, 'text')}, the first from the generator {cause.generator}: {first}"
    if cause.explanation:
        yield f"explained by {cause.explanation}"
    if cause.others:
        shown = ", ".join(_show(sample.text) for sample in cause.others[:_SHOWN_OTHERS])
        yield f"{plural(len(cause.others), 'other minimal text')} with the same explanation, such as {shown}"


def _show(text: str) -> str:
    is_short = len(text) <= _SHOWN_CHARACTERS
    return visible(text, mark_spaces=False) if is_short else f"a text of {len(text):,} characters"


@lru_cache(maxsize=256)
def _by_category(text: str) -> str:
    """Replace each digit and each character outside ASCII by a character for its Unicode category."""
    return "".join(map(_category_character, text))


@cache
def _category_character(character: str) -> str:
    if character.isascii() and not character.isdigit():
        return character
    # Private use characters can represent categories, because those in the text are replaced as well.
    category = unicodedata.category(character)
    return chr(0xE000 + (ord(category[0]) << 5) + ord(category[1]) - ord("a"))
