"""Finding: one thing that a rule found wrong with a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import total_ordering


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
    """What a rule found.

    `ids` are all the token ids that are involved, `keys` the GGUF keys. `repair` says how to put it right, where there
    is a way that is not simply "convert again": often a command line, with MODEL for the file. `code` and `name` are
    those of the rule, which fills them in.
    """

    severity: Severity
    message: str
    ids: tuple[int, ...] = ()
    keys: tuple[str, ...] = ()
    repair: str = ""
    code: str = ""
    name: str = ""
