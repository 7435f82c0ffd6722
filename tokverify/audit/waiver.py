"""Waivers: a YAML list of the findings that are known and accepted, each with a reason.

Imports PyYAML through `tokverify.checker`, so import this module only where a file is about to be read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tokverify.checker import Checker, shown
from tokverify.errors import TokverifyError
from tokverify.yaml_node import Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from tokverify.audit.finding import Finding
    from tokverify.audit.subject import Subject
    from tokverify.yaml_node import Node

_MAX_ID = 2**31 - 1
_MAX_FILE_BYTES = 1 << 20
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
    checker = Checker(str(path), "a list of waivers")
    root = checker.parse(_read_text(path))
    nodes = checker.sequence(root, "the file of waivers") if root is not None else None
    waivers = [_read_waiver(checker, node, codes, f"{path}:{node.line}") for node in nodes or ()]
    if checker.complaints:
        raise TokverifyError("\n".join(checker.complaints))
    return [waiver for waiver in waivers if waiver is not None]


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_FILE_BYTES).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise TokverifyError(f"{path}: cannot read the waivers: {reason}") from error


def _read_waiver(checker: Checker, node: Node, codes: Collection[str], place: str) -> Waiver | None:
    fields = checker.mapping(node, "a waiver", _READERS)
    if fields is None:
        return None
    values: dict[str, Any] = {name: _READERS[name](checker, value, name) for name, value in fields.items()}
    for name in ("code", "reason"):
        if name not in fields:
            checker.complain(node.line, f"a waiver has no {name}; add `{name}: ...`")
        elif values[name] is not None and not values[name].strip():
            checker.complain(fields[name].line, f"{name} is empty; write one")
    if "code" in fields and values["code"] and values["code"] not in codes:
        checker.complain(fields["code"].line, f"there is no rule {shown(values['code'])}; known are {', '.join(codes)}")
    missing = {"code", "reason"} - fields.keys()
    return None if missing or None in values.values() else Waiver(**values, place=place)


def _read_fingerprint(checker: Checker, node: Node, what: str) -> str | None:
    text = checker.string(node, what)
    if text is None or _FINGERPRINT.fullmatch(text):
        return text
    checker.complain(node.line, f"{what} is {shown(text)}; write 8 to 64 hexadecimal digits, in small letters")
    return None


def _read_ids(checker: Checker, node: Node, what: str) -> tuple[IdRange, ...] | None:
    items = checker.sequence(node, what)
    ranges = [_read_range(checker, item) for item in items or ()]
    return None if items is None else tuple(found for found in ranges if found is not None)


def _read_range(checker: Checker, node: Node) -> IdRange | None:
    if isinstance(node, Scalar) and (match := _RANGE.fullmatch(node.value)):
        return int(match[1]), int(match[2])
    id = checker.integer(node, "an id, or a range such as 5-9,", 0, _MAX_ID)
    return None if id is None else (id, id)


_READERS: Mapping[str, Callable[[Checker, Node, str], Any]] = {
    "code": Checker.string,
    "reason": Checker.string,
    "model": Checker.string,
    "fingerprint": _read_fingerprint,
    "ids": _read_ids,
    "message": Checker.string,
}
