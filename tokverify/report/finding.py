"""Finding: one problem that a rule found in a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering

from tokverify.report.diagnosis import Repair
from tokverify.report.fields import Digest, RuleCode, RuleName


@total_ordering
class Severity(Enum):
    """How serious a finding is, in ascending order."""

    INFO = "INFO"
    """Good to know."""
    WARNING = "WARNING"
    """Some texts may be encoded incorrectly, or a later change could break the file."""
    ERROR = "ERROR"
    """Some texts are encoded incorrectly, or the file cannot be loaded."""

    def __lt__(self, other: Severity) -> bool:
        order = list(Severity)
        return order.index(self) < order.index(other)


INFO, WARNING, ERROR = Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem found by a rule."""

    severity: Severity
    """How serious it is; errors and warnings can fail."""
    message: str
    """What is wrong, in one sentence."""
    ids: tuple[int, ...] = ()
    """All token ids involved."""
    keys: tuple[str, ...] = ()
    """All GGUF keys involved."""
    repair: str = ""
    """How to repair it, often as a command line in which MODEL, REFERENCE and FIXED stand for files. Empty where the
    only way is to convert the model again."""
    code: RuleCode = ""
    """The code of the rule; filled in by the rule."""
    name: RuleName = ""
    """The name of the rule; filled in by the rule."""
    remedy: Repair = field(default_factory=Repair)
    """`repair` with the files of this audit filled in."""
    digest: Digest = ""
    """Identifies the problem in a baseline; filled in by the rule."""
    refusals: tuple[str, ...] = ()
    """Sentences on why entries of a baseline about this rule do not accept it."""
