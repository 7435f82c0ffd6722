"""AppliedLimit: a limit of llama.cpp, or a convention of its converter, that explains cases of a report."""

from __future__ import annotations

from dataclasses import dataclass

from tokverify.report.fields import Count, RuleCode, RuleName
from tokverify.report.finding import Severity
from tokverify.report.verdict import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedLimit:
    """Why cases differ although the file is as good as it can be."""

    code: RuleCode
    """The code, such as `TL003`."""
    name: RuleName
    origin: Origin
    """`runtime` or `convention`."""
    severity: Severity
    """Below ERROR."""
    message: str
    """What llama.cpp does differently here, as a clause that completes `because`."""
    cases: Count
    """How many cases need it to be explained, alone or with other limits."""
    advice: str
    """How to live with it."""
