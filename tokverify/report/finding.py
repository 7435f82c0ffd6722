"""Finding: one thing that a rule found wrong with a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How bad a finding is.

    An ERROR makes some texts come out wrong, or keeps the file from loading. A WARNING may, or is a trap for whoever
    changes something. INFO is good to know.
    """

    INFO = 1
    WARNING = 2
    ERROR = 3


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
