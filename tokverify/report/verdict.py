"""Whose fault a difference is."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Where a difference comes from, as far as that is proven."""

    FILE = "file"
    """Another GGUF file would agree with the reference."""
    CONVENTION = "convention"
    """llama.cpp's converter writes it so on purpose; a file that agrees must not be written."""
    RUNTIME = "runtime"
    """No GGUF file can agree: llama.cpp overrides, lacks or cannot express something."""
    REFERENCE = "reference"
    """The reference contradicts its own configuration."""
    UNKNOWN = "unknown"
    """None of these could be proven."""
