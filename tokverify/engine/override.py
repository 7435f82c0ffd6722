"""Override: a setting for which llama.cpp does not use the declared value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Override:
    """One setting for which llama.cpp does not use the declared value."""

    setting: str
    declared: object
    """What the file declares; None if it declares nothing."""
    effective: object
    """What llama.cpp uses."""
    reason: str

    def __str__(self) -> str:
        declared = "not declared" if self.declared is None else f"declared {self.declared}"
        return f"{self.setting}: {declared}, effective {self.effective} ({self.reason})"


def net_overrides(overrides: Sequence[Override]) -> tuple[Override, ...]:
    """Combine successive overrides of the same setting, and drop those that restore the declared value."""
    combined: dict[str, Override] = {}
    for override in overrides:
        first = combined.get(override.setting, override)
        combined[override.setting] = replace(override, declared=first.declared)
    return tuple(override for override in combined.values() if override.declared != override.effective)
