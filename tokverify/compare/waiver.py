"""Waivers: entries of a YAML list, of a file of their own or of a baseline, that accept findings, each with a reason.

Imports PyYAML through `tokverify.cases.checker`, so import this module only where a file is about to be read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.cases.checker import Checker, quote
from tokverify.cases.entry_file import has_field, read_entries, read_fields
from tokverify.cases.yaml_node import Node, Scalar
from tokverify.report.audit import IdRange, Waiver

if TYPE_CHECKING:
    from tokverify.cases.entry_file import Readers

_OTHER_ENTRIES = ("case", "aspect", "cases", "aspects")
"""The fields of the entries of a baseline that accept no finding."""
_MAX_ID = 2**31 - 1
_RANGE = re.compile("([0-9]{1,10})-([0-9]{1,10})")
_FINGERPRINT = re.compile("[0-9a-f]{8,64}")


def read_waivers(path: Path, codes: Collection[str] | None = None) -> list[Waiver]:
    """Read a file of waivers, or those in a baseline; `codes` are those of all rules, None not to check codes.

    Raises:
        TokverifyError: If anything is wrong; the message has one line per problem.
    """

    def read(checker: Checker, node: Node) -> Waiver | None:
        if has_field(node, _OTHER_ENTRIES):
            return None
        values = read_fields(checker, node, "waiver", _READERS, ("code", "reason"))
        if values is None:
            return None
        if codes is not None and values["code"] not in codes:
            checker.complain(node.line, f"there is no rule {quote(values['code'])}; choose one of {', '.join(codes)}")
        return Waiver(**values, place=f"{path}:{node.line}")

    return read_entries(path, "waiver", read, marks=("code", "reason"))


def _read_fingerprint(checker: Checker, node: Node, what: str) -> str | None:
    return checker.matching(node, what, _FINGERPRINT, "write 8 to 64 lower-case hexadecimal digits")


def _read_ids(checker: Checker, node: Node, what: str) -> tuple[IdRange, ...] | None:
    items = checker.sequence(node, what)
    ranges = [_read_range(checker, item) for item in items or ()]
    return None if items is None else tuple(range for range in ranges if range is not None)


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
