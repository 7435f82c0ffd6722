"""Evidence: what the failing cases show, for the generators of changes to go by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tokverify.errors import TokverifyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokverify.diagnosis.facts import Facts
    from tokverify.encoder import Encoder
    from tokverify.spec import TokenizerSpec


@dataclass(frozen=True, slots=True)
class Target:
    """One text with the ids that it should have; `name` is that of its case."""

    name: str
    text: str
    add_special: bool
    parse_special: bool
    expected: tuple[int, ...]

    def ids(self, encoder: Encoder) -> tuple[int, ...] | None:
        """Encode the text; None where that cannot be done."""
        try:
            return tuple(encoder.encode(self.text, add_special=self.add_special, parse_special=self.parse_special))
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
            actual = Counter(target.ids(self.encoder) or ()) if self.encoder else Counter[int]()
            missing += Counter(target.expected) - actual
            surplus += actual - Counter(target.expected)
        return missing, surplus

    @property
    def missing(self) -> Counter[int]:
        """How often each id is wanted and not there."""
        return self._difference[0]

    @property
    def surplus(self) -> Counter[int]:
        """How often each id is there and not wanted."""
        return self._difference[1]

    @cached_property
    def text(self) -> str:
        """All failing texts."""
        return "\n".join(target.text for target in self.targets)

    @property
    def adds_special(self) -> bool:
        """Whether tokens around a text can be a part of what fails."""
        return any(target.add_special for target in self.targets)
