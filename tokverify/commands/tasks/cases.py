"""Load and select the cases of a run."""

from __future__ import annotations

from collections.abc import Sequence

from tokverify.case import Case, SuiteSource
from tokverify.cases.loading import load_cases
from tokverify.cases.selection import select


def select_cases(
    sources: Sequence[SuiteSource] = (),
    suites: Sequence[str] = (),
    tags: Sequence[str] = (),
    patterns: Sequence[str] = (),
) -> list[Case]:
    """Load the suites at `sources`, by default the shipped ones, and select cases.

    Args:
        sources: Suites or directories of suites; the shipped ones by default.
        suites: Names of suites.
        tags: Tags.
        patterns: Patterns of case ids, such as `tab*`.

    Returns:
        The cases that match one of each of the given filters.

    Raises:
        TokverifyError: If a suite is wrong, or no case is selected.
    """
    return select(load_cases(sources or None), suites=suites, tags=tags, patterns=patterns)
