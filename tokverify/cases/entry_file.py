"""Entry files: YAML or JSON lists of what is known and accepted, each entry a mapping with a reason.

Imports PyYAML through `tokverify.cases.checker`, so import this module only where a file is about to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tokverify.cases.checker import Checker
from tokverify.errors import TokverifyError
from tokverify.system.lfs_pointer import require_fetched

if TYPE_CHECKING:
    from tokverify.cases.yaml_node import Node

    Readers = Mapping[str, Callable[[Checker, Node, str], Any]]

_Entry = TypeVar("_Entry")

_MAX_FILE_BYTES = 16 << 20


def read_entries(path: Path, what: str, read: Callable[[Checker, Node], _Entry | None]) -> list[_Entry]:
    """Read a file that is a list; `read` makes an entry, or complains and returns None. `what` names an entry.

    Raises:
        TokverifyError: If anything is wrong, with all complaints, one a line.
    """
    checker = Checker(str(path), f"a list of {what}s")
    root = checker.parse(_read_text(path, what))
    nodes = checker.sequence(root, f"the file of {what}s") if root is not None else None
    entries = [read(checker, node) for node in nodes or ()]
    if checker.complaints:
        raise TokverifyError("\n".join(checker.complaints))
    return [entry for entry in entries if entry is not None]


def read_fields(
    checker: Checker, node: Node, what: str, readers: Readers, required: Collection[str]
) -> dict[str, Any] | None:
    """Read the fields of an entry; `required` ones are strings, and not empty. None if something is wrong."""
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


def _read_text(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
        require_fetched(path, data)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise TokverifyError(f"{path}: cannot read the {what}s: {reason}; check the path") from error
    if len(data) > _MAX_FILE_BYTES:
        raise TokverifyError(f"{path}: larger than {_MAX_FILE_BYTES >> 20} MiB, too large for a list of {what}s")
    return text
