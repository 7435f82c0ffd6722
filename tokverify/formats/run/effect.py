"""What an explanation is worth, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokverify.wording import plural

if TYPE_CHECKING:
    from tokverify.diagnosis.result import Diagnosis, Explanation


def effect(explanation: Explanation, diagnosis: Diagnosis) -> str:
    """Say what an explanation does, beginning with its sentence."""
    what = "differing decoding" if diagnosis.decoding else "failing case"
    return f"{explanation.sentence} makes {explanation.explained:,} of {plural(explanation.failing, what)} match"
