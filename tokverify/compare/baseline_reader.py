"""Read the entries of a baseline, in YAML or JSON (docs/baseline.md).

The modules that import PyYAML are imported where a file is about to be read.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tokverify.compare.digest import DIGITS
from tokverify.report.known_difference import KnownDifference, describe_subject
from tokverify.report.tokenizer_difference import Aspect
from tokverify.text.wording import suggest_name

if TYPE_CHECKING:
    from tokverify.cases.checker import Checker
    from tokverify.cases.yaml_node import Node

_WHAT = "known failure"
_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DIGEST = re.compile(f"[0-9a-f]{{{DIGITS}}}")


def read_known_differences(path: Path) -> tuple[KnownDifference, ...]:
    """Read the entries of a baseline.

    Raises:
        TokverifyError: If the file is invalid; the message lists all complaints, one per line.
    """
    from tokverify.cases.entry_file import read_entries

    seen: set[tuple[str, str, str | None]] = set()

    def read(checker: Checker, node: Node) -> KnownDifference | None:
        entry = _read_entry(checker, node, f"{path}:{node.line}")
        if entry:
            subject = describe_subject(entry)
            key = (subject, entry.difference, entry.model)
            if key in seen:
                checker.complain(node.line, f"this failure of {subject} is already listed above; remove one")
            seen.add(key)
        return entry

    return tuple(read_entries(path, _WHAT, read, marks=("case", "difference")))


def _read_entry(checker: Checker, node: Node, place: str) -> KnownDifference | None:
    from tokverify.cases.checker import Checker
    from tokverify.cases.entry_file import read_fields

    readers = {
        "case": Checker.string,
        "aspect": _read_aspect,
        "difference": _read_digest,
        "reason": Checker.string,
        "expires": _read_date,
        "model": Checker.string,
        "about": Checker.string,
    }
    values = read_fields(checker, node, _WHAT, readers, ("difference", "reason"))
    if values is None:
        return None
    if ("case" in values) == ("aspect" in values):
        checker.complain(node.line, f"a {_WHAT} needs either a case or an aspect; let --update-baseline write it")
        return None
    return KnownDifference(**values, place=place)


def _read_aspect(checker: Checker, node: Node, what: str) -> str | None:
    value: str = getattr(node, "value", "")
    if value in tuple(Aspect):
        return value
    checker.complain(node.line, f"{what} {value!r} is unknown; {suggest_name(value, tuple(Aspect))}")
    return None


def _read_digest(checker: Checker, node: Node, what: str) -> str | None:
    value: str = getattr(node, "value", "")
    # subtle: YAML reads a digest that has only digits as an integer, and `12345e67` as a float.
    if _DIGEST.fullmatch(value):
        return value
    checker.complain(node.line, f"{what} is not {DIGITS} hexadecimal digits; let --update-baseline write it")
    return None


def _read_date(checker: Checker, node: Node, what: str) -> date | None:
    value: str = getattr(node, "value", "")
    try:
        if _DATE.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    checker.complain(node.line, f"{what} is not a date; write the last day on which it is accepted, such as 2027-01-31")
    return None
