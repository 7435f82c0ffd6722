"""Rule: one static check, whose docstring is its manual."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from tokverify.compare.digest import digest_finding
from tokverify.compare.subject import NotEvaluatedError, Subject
from tokverify.errors import NotComparedError
from tokverify.report.audit import ManualSection, RuleManual
from tokverify.report.finding import Finding, Severity
from tokverify.report.tokenizer_difference import TokenizerDifference

Check = Callable[[Subject], Iterable[Finding]]

SECTIONS = ("What it does", "Why it is bad", "Example", "How to repair", "Threads")
"""The sections of every rule's docstring, after the first line."""

_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A check and its manual."""

    manual: RuleManual

    check: Check
    """Yields findings, without the code and the name of the rule."""

    @property
    def code(self) -> str:
        """The code: from TV100 on, rules need only the GGUF file, from TV200 on its reference too."""
        return self.manual.code

    @property
    def name(self) -> str:
        """The name, such as `double-bos`."""
        return self.manual.name

    @property
    def severity(self) -> Severity:
        """The highest severity of its findings."""
        return self.manual.severity

    def findings(self, subject: Subject) -> Iterator[Finding]:
        """Yield what is wrong with `subject`.

        Raises:
            NotEvaluatedError: If something that the rule needs is missing, perhaps after some findings.
        """
        mistyped = subject.spec.mistyped_keys
        try:
            for finding in self.check(subject):
                # A value of the wrong type is what TV100 reports; that it is missing would be false.
                if finding.keys and mistyped.keys() >= {*finding.keys}:
                    continue
                digest = finding.digest or digest_finding(self.code, finding)
                yield replace(finding, code=self.code, name=self.name, digest=digest)
        except NotComparedError as error:
            raise NotEvaluatedError(str(error)) from error


def rule(*, code: str, name: str, severity: Severity) -> Callable[[Check], Rule]:
    """Turn a function into a rule; its docstring becomes the rule's manual."""

    def decorate(check: Check) -> Rule:
        return Rule(_parse_manual(code, name, severity, inspect.cleandoc(check.__doc__ or "")), check)

    return decorate


def to_finding(difference: TokenizerDifference, repair: str = "") -> Finding:
    """Return what `run` reports as a difference between two tokenizers as the finding of a rule."""
    return Finding(
        difference.severity,
        difference.message,
        difference.ids,
        difference.keys,
        repair,
        digest=difference.digest,
    )


def _parse_manual(code: str, name: str, severity: Severity, docstring: str) -> RuleManual:
    """Split a docstring into its summary and its sections."""
    summary, *parts = _HEADING.split(docstring)
    sections = zip(parts[::2], parts[1::2], strict=True)
    return RuleManual(
        code=code,
        name=name,
        severity=severity,
        summary=summary.strip(),
        sections=tuple(ManualSection(heading, " ".join(text.split())) for heading, text in sections),
    )
