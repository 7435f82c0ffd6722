"""Describe a declared setting that llama.cpp overrides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Override:
    """One setting that llama.cpp overrides; `declared` is None if the file does not declare it."""

    setting: str
    declared: object
    effective: object
    reason: str

    def __str__(self) -> str:
        declared = "not declared" if self.declared is None else f"declared {self.declared}"
        return f"{self.setting}: {declared}, effective {self.effective} ({self.reason})"
