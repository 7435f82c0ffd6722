"""Verify the bundled sample, which is intact, and its twin, which is broken on purpose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

from tokverify.case import Case
from tokverify.cases.loading import load_cases
from tokverify.commands.tasks.run import verify_model
from tokverify.report.run import Report, Status

SAMPLE_DIRECTORY = Path(__file__).parents[2] / "sample"
REFERENCE = "sample.tokenizer.json"
INTACT = "sample.gguf"
BROKEN = "sample-broken.gguf"
SHOWN_CASES = ("seed/extra-spaces", "tabs/before-word-3")
"""The cases of the broken sample to show in full."""

# The runs for which the sample has tokens that its broken twin never finds.
_BROKEN_RUN = re.compile(r" {2}|\t{3}")


class Demo(NamedTuple):
    """The reports of a demonstration."""

    intact: Report
    """The intact sample, on all cases."""
    broken: Report
    """The broken sample, on all cases."""
    detail: Report
    """The broken sample on a few cases, with the cause of the failures."""
    planned: frozenset[str]
    """The cases that should fail with the broken sample."""
    unplanned: frozenset[str]
    """The cases that did not turn out as planned with one of the samples."""


def run_demo() -> Demo:
    """Verify both samples."""
    cases = load_cases()
    few = [case for case in cases if case.name in SHOWN_CASES]
    with chdir(SAMPLE_DIRECTORY):
        intact = _verify(INTACT, cases)
        broken = _verify(BROKEN, cases)
        detail = _verify(BROKEN, few, patterns=SHOWN_CASES)
    planned = frozenset(case.name for case in cases if _BROKEN_RUN.search(case.text))
    unplanned = _failing(intact) | (_failing(broken) ^ planned)
    return Demo(intact, broken, detail, planned, unplanned)


def _verify(model: str, cases: Sequence[Case], *, patterns: Sequence[str] = ()) -> Report:
    options = {"model": model, "reference": REFERENCE, "patterns": patterns}
    return verify_model(model, REFERENCE, cases, diagnose=True, options=options)


def _failing(report: Report) -> frozenset[str]:
    return frozenset(result.case.name for result in report.results if result.status is not Status.MATCH)
