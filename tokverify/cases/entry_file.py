"""Read YAML or JSON lists of accepted differences; each entry is a mapping with a reason.

This imports PyYAML, so import it only where a file is about to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tokverify.cases.checker import Checker
from tokverify.errors import SeveralError
from tokverify.system.input_file import read_text

if TYPE_CHECKING:
    from tokverify.cases.yaml_node import Node

    Readers = Mapping[str, Callable[[Checker, Node, str], Any]]

_Entry = TypeVar("_Entry")

_MAX_FILE_BYTES = 16 << 20


def read_entries(
    path: Path, what: str, read: Callable[[Checker, Node], _Entry | None], *, marks: Collection[str]
) -> list[_Entry]:
    """Read a file that contains a list.

    Args:
        path: The file.
        what: The name of an entry in messages, such as `known failure`.
        read: Converts a node to an entry, or adds complaints and returns None.
        marks: The fields that show that the file is such a list, as for `Checker`.

    Raises:
        TokverifyError: If anything is wrong; lists all complaints.
    """
    checker = Checker(str(path), f"a list of {what}s", marks)
    root = checker.parse(read_text(path, f"{what}s", _MAX_FILE_BYTES))
    nodes = checker.sequence(root, f"the file of {what}s") if root is not None else None
    entries = [read(checker, node) for node in nodes or ()]
    if checker.complaints:
        raise SeveralError(*checker.complaints)
    return [entry for entry in entries if entry is not None]


def read_fields(
    checker: Checker, node: Node, what: str, readers: Readers, required: Collection[str]
) -> dict[str, Any] | None:
    """Read the fields of an entry, or return None if there are complaints; `required` fields are non-empty strings."""
    fields = checker.mapping(node, f"a {what}", readers)
    if fields is None:
        return None
    values = {name: readers[name](checker, value, name) for name, value in fields.items()}
    for name in required:
        if name not in fields:
            checker.complain(node.line, f"a {what} has no {name}; add `{name}: ...`")
        elif values[name] is not None and not values[name].strip():
            checker.complain(fields[name].line, f"{name} is empty; write one")
    return None if None in values.values() or not set(required) <= fields.keys() else values
