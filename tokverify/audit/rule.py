"""Rule: one static check, which its docstring explains to the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject
    from tokverify.report.finding import Finding, Severity

    Check = Callable[[Subject], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A check with its code, its name and the worst severity that it gives; `manual` is what it says of itself.

    Codes from TV100 on need only the GGUF file, those from TV200 on its reference.
    """

    code: str
    name: str
    severity: Severity
    check: Check
    manual: str

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Find what is wrong with `subject`.

        Raises:
            NotEvaluatedError: Where the rule does not get what it needs, perhaps after some findings.
        """
        for finding in self.check(subject):
            yield replace(finding, code=self.code, name=self.name)


def rule(*, code: str, name: str, severity: Severity) -> Callable[[Check], Rule]:
    """Make a rule of a function; its docstring becomes the rule's manual."""

    def decorate(check: Check) -> Rule:
        return Rule(code, name, severity, check, inspect.cleandoc(check.__doc__ or ""))

    return decorate
