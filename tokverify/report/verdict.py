"""Verdict and origin: what a report concludes, and who must change for a difference to go away."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Where a difference comes from."""

    FILE = "file"
    """Another GGUF file would agree with the reference."""
    CONVENTION = "convention"
    """llama.cpp's converter writes it so on purpose; a file that agrees could be written, but should not be."""
    RUNTIME = "runtime"
    """No GGUF file can agree: llama.cpp overrides, lacks or cannot express something."""
    REFERENCE = "reference"
    """The reference contradicts its own configuration, or is known to be outdated."""
    UNKNOWN = "unknown"
    """None of these could be proven."""


class Verdict(StrEnum):
    """What a report concludes."""

    EQUAL = "equal"
    """No case fails, and no difference reaches what a gate fails on."""
    FAITHFUL = "faithful"
    """Cases differ, but each only by proven limits of llama.cpp or conventions of its converter."""
    ACCEPTED = "accepted"
    """As either of these, once the known differences are set aside."""
    DIFFERENT = "different"
    """Anything else."""
    NOT_COMPARABLE = "not comparable"
    """Nothing was compared, or a side stopped answering."""
