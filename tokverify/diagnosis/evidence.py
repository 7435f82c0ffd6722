"""Evidence: what the failing cases show, for the generators of changes to go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from tokverify.errors import TokverifyError

if TYPE_CHECKING:
    from tokverify.diagnosis.facts import Facts
    from tokverify.engine.encoder import Encoder
    from tokverify.spec import TokenizerSpec


class Goal(Protocol):
    """What a changed tokenizer should make of one case; `name` is that of the case."""

    @property
    def name(self) -> str:
        """The case, as suite/id."""

    @property
    def expected(self) -> Sequence[int]:
        """What should come out: ids, or bytes."""

    def outcome(self, encoder: Encoder) -> Sequence[int] | None:
        """Return what comes out; None where nothing does."""


@dataclass(frozen=True, slots=True)
class Target:
    """One text with the ids that it should have."""

    name: str
    text: str
    add_special: bool
    parse_special: bool
    expected: tuple[int, ...]

    def outcome(self, encoder: Encoder) -> tuple[int, ...] | None:
        """Encode the text; None where that cannot be done."""
        try:
            return tuple(encoder.encode(self.text, add_special=self.add_special, parse_special=self.parse_special))
        except TokverifyError:
            return None


@dataclass(frozen=True, slots=True)
class DecodingTarget:
    """Some ids with the bytes that they should decode to; `clean_up` is for those of `llama_detokenize`."""

    name: str
    ids: tuple[int, ...]
    clean_up: bool
    expected: bytes

    def outcome(self, encoder: Encoder) -> bytes | None:
        """Decode the ids; None where that cannot be done."""
        try:
            return encoder.decode(self.ids, clean_up=self.clean_up)
        except TokverifyError:
            return None


@dataclass(frozen=True)
class Evidence:
    """A tokenizer, its encoder unless llama.cpp refuses it, what the reference tells, and the texts that fail."""

    spec: TokenizerSpec
    encoder: Encoder | None
    facts: Facts
    targets: Sequence[Target]

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
        """How often each id is wanted and not there."""
        return self._difference[0]

    @property
    def surplus(self) -> Counter[int]:
        """How often each id is there and not wanted."""
        return self._difference[1]

    @cached_property
    def missing_unparsed(self) -> frozenset[int]:
        """The ids that are wanted and not there even where control tokens are not looked for."""
        plain = [target for target in self.targets if not target.parse_special]
        return frozenset(id for target in plain for id in Counter(target.expected) - self._actual(target))

    @cached_property
    def text(self) -> str:
        """All failing texts."""
        return "\n".join(target.text for target in self.targets)

    @property
    def adds_special(self) -> bool:
        """Whether tokens around a text can be a part of what fails."""
        return any(target.add_special for target in self.targets)


@dataclass(frozen=True)
class DecodingEvidence:
    """A tokenizer and its encoder, what the reference tells, and the ids that are decoded differently."""

    spec: TokenizerSpec
    encoder: Encoder
    facts: Facts
    targets: Sequence[DecodingTarget]

    @cached_property
    def differing(self) -> Sequence[int]:
        """The ids among them that stand for different bytes on the two sides, as far as the reference tells."""
        shown = self.facts.token_bytes
        ids = {id for target in self.targets for id in target.ids if id < len(shown)}
        return sorted(id for id in ids if self.encoder.token_bytes(id) != shown[id])
