"""What a diagnosis found, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.diagnosis.change import Change


@dataclass(frozen=True, slots=True)
class Explanation:
    """A change that makes failing cases match, and breaks none that matched.

    `explained` of the failing cases match with it; `unexplained` names the others, as suite/id. `expressible` says
    whether a GGUF file can say it, `repair` is the command of the `gguf` package that writes it, where there is one.
    """

    sentence: str
    explained: int
    failing: int
    unexplained: tuple[str, ...]
    expressible: bool
    repair: str | None
    change: Change


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why cases fail: the explanations, the best one first.

    `failing` cases were looked at, and `tried` changes; `stopped_early` is True if time ran out before all were. With
    `decoding` no case fails, and what was looked at are those whose ids are decoded differently.
    """

    explanations: tuple[Explanation, ...]
    failing: int
    tried: int
    stopped_early: bool = False
    decoding: bool = False

    def told(self) -> Diagnosis:
        """Return it without what the changes do, which cannot be sent to another process."""
        from tokverify.diagnosis.change import unchanged
        from tokverify.diagnosis.deviation import Deviation

        return replace(
            self,
            explanations=tuple(
                replace(found, change=replace(found.change, transform=unchanged, deviation=Deviation()))
                for found in self.explanations
            ),
        )
