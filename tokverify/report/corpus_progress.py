"""The state of a corpus run that has not ended yet, as far as its finished units show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tokverify.report.fields import Count
from tokverify.report.fuzz import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusProgress:
    """The state of a run."""

    units: Share
    file_bytes: Share
    """The size of the files, or parts of files; compressed if the files are."""
    documents: Count
    differing: Count
    unreadable: Count
    causes: Mapping[str, Count] = field(default_factory=dict)
    """How many documents show each cause so far."""
    busy_seconds: float
    """How long workers were busy, all together."""
    bytes: Count
    """The size of the texts that were compared, in UTF-8."""
