"""Evidence: what the failing cases show; the generators of changes build on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from tokverify.compare.limits.limit import Text
from tokverify.compare.opened import Opened
from tokverify.engine.encoder import Encoder
from tokverify.errors import answer_or
from tokverify.spec import TokenizerSpec
from tokverify.tokenizer import Tokenizer


class Goal(Protocol):
    """What a changed tokenizer should return for one case."""

    @property
    def name(self) -> str:
        """The name of the case, as suite/id."""

    @property
    def expected(self) -> Sequence[int]:
        """The expected result: ids or bytes."""

    @property
    def size(self) -> int:
        """How much there is to encode or decode, in tokens."""

    def outcome(self, encoder: Encoder) -> Sequence[int] | None:
        """Return the result of an encoder; None if it fails."""


@dataclass(frozen=True, slots=True)
class Target:
    """A text and the ids that it should be encoded to."""

    name: str
    text: str
    add_special: bool
    parse_special: bool
    expected: tuple[int, ...]

    @property
    def size(self) -> int:
        """How much there is to encode, in tokens of two characters or more."""
        return max(len(self.expected), len(self.text) // 2)

    def as_text(self) -> Text:
        """Return it as what limits explain."""
        return Text(self.text, self.add_special, self.parse_special, self.expected)

    def outcome(self, encoder: Tokenizer) -> tuple[int, ...] | None:
        """Encode the text; None if that fails."""
        return self.as_text().encode(encoder)


@dataclass(frozen=True, slots=True)
class DecodingTarget:
    """Ids and the bytes that they should be decoded to."""

    name: str
    ids: tuple[int, ...]
    clean_up: bool
    """Whether spaces before punctuation are removed, as by `llama_detokenize`."""
    expected: bytes

    @property
    def size(self) -> int:
        """How much there is to decode, in tokens or bytes."""
        return max(len(self.expected), len(self.ids))

    def outcome(self, encoder: Encoder) -> bytes | None:
        """Decode the ids; None if that fails."""
        return answer_or(None, encoder.decode, self.ids, clean_up=self.clean_up)


@dataclass(frozen=True)
class Evidence:
    """What is known about ids that differ."""

    spec: TokenizerSpec
    encoder: Encoder | None
    """None if llama.cpp refuses the tokenizer."""
    facts: Opened
    targets: Sequence[Target]
    """The failing texts."""

    @cached_property
    def _difference(self) -> tuple[Counter[int], Counter[int]]:
        missing: Counter[int] = Counter()
        surplus: Counter[int] = Counter()
        for target in self.targets:
            actual = self._actual(target)
            missing += Counter(target.expected) - actual
            surplus += actual - Counter(target.expected)
        return missing, surplus

    def _actual(self, target: Target) -> Counter[int]:
        return Counter(target.outcome(self.encoder) or ()) if self.encoder else Counter()

    @property
    def missing(self) -> Counter[int]:
        """How often each expected id is missing."""
        return self._difference[0]

    @property
    def surplus(self) -> Counter[int]:
        """How often each id occurs although it is not expected."""
        return self._difference[1]

    @cached_property
    def missing_unparsed(self) -> frozenset[int]:
        """The expected ids that are missing even in texts in which control tokens are not recognized."""
        missing: set[int] = set()
        for target in self.targets:
            if not target.parse_special:
                missing.update(Counter(target.expected) - self._actual(target))
        return frozenset(missing)

    @cached_property
    def text(self) -> str:
        """All failing texts, as lines."""
        return "\n".join(target.text for target in self.targets)

    @property
    def adds_special(self) -> bool:
        """Whether the failing cases include special tokens around texts."""
        return any(target.add_special for target in self.targets)


@dataclass(frozen=True)
class DecodingEvidence:
    """What is known about equal ids that decode differently."""

    spec: TokenizerSpec
    encoder: Encoder
    facts: Opened
    targets: Sequence[DecodingTarget]

    @cached_property
    def differing(self) -> Sequence[int]:
        """The ids that represent different bytes on the two sides, as far as the reference provides them."""
        expected_bytes = self.facts.token_bytes
        ids = set().union(*(target.ids for target in self.targets))
        return sorted(
            id for id in ids if id < len(expected_bytes) and self.encoder.token_bytes(id) != expected_bytes[id]
        )
