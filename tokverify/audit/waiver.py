"""Waivers: a YAML list of the findings that are known and accepted, each with a reason.

Imports PyYAML through `tokverify.cases.checker`, so import this module only where a file is about to be read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.cases.checker import Checker, quote
from tokverify.cases.entry_file import read_entries, read_fields
from tokverify.cases.yaml_node import Scalar

if TYPE_CHECKING:
    from tokverify.audit.subject import Subject
    from tokverify.cases.entry_file import Readers
    from tokverify.cases.yaml_node import Node
    from tokverify.report.finding import Finding

_MAX_ID = 2**31 - 1
_RANGE = re.compile("([0-9]{1,10})-([0-9]{1,10})")
_FINGERPRINT = re.compile("[0-9a-f]{8,64}")

IdRange = tuple[int, int]
"""The first and the last id of a range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """What accepts a finding, and why; what is None accepts any.

    `model` is a shell-style pattern for the file's name without directory and suffix, or its `general.name`.
    `fingerprint` is one, or its beginning. All ids of a finding must be within `ids`. `message` is a shell-style
    pattern for the whole message. `place` is the file and line of the waiver.
    """

    code: str
    reason: str
    model: str | None = None
    fingerprint: str | None = None
    ids: tuple[IdRange, ...] | None = None
    message: str | None = None
    place: str = ""

    def concerns(self, subject: Subject) -> bool:
        """Tell whether the waiver is about this model."""
        names = (subject.name, subject.spec.general.get("name", ""))
        if self.model is not None and not any(fnmatchcase(name, self.model) for name in names):
            return False
        return self.fingerprint is None or (subject.fingerprint or "").startswith(self.fingerprint)

    def accepts(self, finding: Finding) -> bool:
        """Tell whether the waiver covers a finding on a model that it concerns."""
        return (
            finding.code == self.code
            and (self.message is None or fnmatchcase(finding.message, self.message))
            and (self.ids is None or (bool(finding.ids) and all(map(self._covers, finding.ids))))
        )

    def _covers(self, id: int) -> bool:
        return any(first <= id <= last for first, last in self.ids or ())


def read_waivers(path: Path, codes: Collection[str]) -> list[Waiver]:
    """Read a file of waivers; `codes` are those that there are.

    Raises:
        TokverifyError: If anything is wrong, with all complaints, one a line.
    """

    def read(checker: Checker, node: Node) -> Waiver | None:
        values = read_fields(checker, node, "waiver", _READERS, ("code", "reason"))
        if values is None:
            return None
        if values["code"] not in codes:
            checker.complain(node.line, f"there is no rule {quote(values['code'])}; known are {', '.join(codes)}")
        return Waiver(**values, place=f"{path}:{node.line}")

    return read_entries(path, "waiver", read)


def _read_fingerprint(checker: Checker, node: Node, what: str) -> str | None:
    return checker.matching(node, what, _FINGERPRINT, "write 8 to 64 hexadecimal digits, in small letters")


def _read_ids(checker: Checker, node: Node, what: str) -> tuple[IdRange, ...] | None:
    items = checker.sequence(node, what)
    ranges = [_read_range(checker, item) for item in items or ()]
    return None if items is None else tuple(found for found in ranges if found is not None)


def _read_range(checker: Checker, node: Node) -> IdRange | None:
    if isinstance(node, Scalar) and (match := _RANGE.fullmatch(node.value)):
        return int(match[1]), int(match[2])
    id = checker.integer(node, "an id, or a range such as 5-9,", 0, _MAX_ID)
    return None if id is None else (id, id)


_READERS: Readers = {
    "code": Checker.string,
    "reason": Checker.string,
    "model": Checker.string,
    "fingerprint": _read_fingerprint,
    "ids": _read_ids,
    "message": Checker.string,
}
