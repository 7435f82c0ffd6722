"""Check the nodes of one YAML file, collecting complaints instead of stopping at the first; read lists of entries.

This imports PyYAML, so import it only where a file is about to be read.

YAML silently converts some texts to other types. Everything here refuses such a value rather than guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from collections.abc import Mapping as MappingType
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from tokverify.cases.yaml_node import Mapping, Node, Scalar, Sequence, YamlError, parse
from tokverify.errors import SeveralError
from tokverify.system.input_file import read_text
from tokverify.text.utf8 import has_surrogate
from tokverify.text.wording import suggest_name

# subtle: U+0085, U+2028 and U+2029 are line breaks in YAML 1.1, so they must be escaped.
_NEVER_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_MAX_COMPLAINTS = 100
_MAX_SHOWN = 40
_MAX_FILE_BYTES = 16 << 20
_KINDS = {
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "null": "nothing",
    "timestamp": "a date",
    "merge": "a merge key",
    "value": "a default value",
}

_Entry = TypeVar("_Entry")


class Checker:
    """Checks on the nodes of one file, and the complaints they collect.

    A check that fails adds a complaint and returns None. The argument `what` names the checked value in the complaint.
    """

    def __init__(self, file: str, content: str, marks: Collection[str]) -> None:
        """Collect complaints about a file.

        Args:
            file: Its name in messages.
            content: The least it must contain, such as "a `cases` list".
            marks: The field names that show that it is such a file. If it has none of them, it may be any file that a
                stranger named, even one with secrets, and no complaint quotes it.
        """
        self._file = file
        self._content = content
        self._marks = marks
        self._is_recognized = False
        self._complaints: list[tuple[int, str]] = []

    @property
    def complaints(self) -> list[str]:
        """All complaints, sorted by line, each beginning with `file:line: `."""
        ordered = sorted(self._complaints, key=itemgetter(0))
        complaints = [f"{self._file}:{line}: {message}" for line, message in ordered[:_MAX_COMPLAINTS]]
        if len(ordered) > _MAX_COMPLAINTS:
            omitted = len(ordered) - _MAX_COMPLAINTS
            complaints.append(f"{self._file}: {omitted:,} more complaints omitted; fix these first")
        return complaints

    def complain(self, line: int, message: str) -> None:
        """Add a complaint about a line, counted from 1."""
        self._complaints.append((line, message))

    def parse(self, text: str) -> Node | None:
        """Parse a whole file."""
        for line, source in enumerate(text.split("\n"), 1):
            if match := _NEVER_RAW.search(source):
                code = f"{ord(match[0]):04X}"
                self.complain(line, f"raw character U+{code}; write it as \\u{code} in double quotes")
        if self._complaints:
            return None
        try:
            root = parse(text)
        except YamlError as error:
            self.complain(error.line, str(error))
            return None
        if root is None:
            self.complain(1, f"the file is empty; write at least {self._content}")
            return None
        self._is_recognized = _has_field(root, self._marks)
        return root

    def mapping(self, node: Node, what: str, known: Collection[str]) -> dict[str, Node] | None:
        """Check the keys of a mapping against `known`; return its valid entries, or None if it is not a mapping."""
        fields: dict[str, Node] = {}
        for name, value in self.entries(node, what):
            if name in known:
                fields[name] = value
                continue
            field = f"an unknown field {quote(name)}" if self._is_recognized else "an unknown field"
            self.complain(value.line, f"{what} has {field}; {suggest_name(name, known)}")
        return fields if isinstance(node, Mapping) else None

    def entries(self, node: Node, what: str) -> Iterator[tuple[str, Node]]:
        """Iterate over a mapping, checking that its keys are unique strings."""
        if not isinstance(node, Mapping):
            self.complain(node.line, f"{what} is {self._describe(node)}; write it as lines of `name: value`")
            return
        first_lines: dict[str, int] = {}
        for key, value in node.pairs():
            name = self.string(key, f"a field name of {what}")
            if name in first_lines:
                field = quote(name) if self._is_recognized else "a field"
                message = f"{what} has {field} twice, first on line {first_lines[name]}; remove one"
                self.complain(key.line, message)
            elif name is not None:
                first_lines[name] = key.line
                yield name, value

    def sequence(self, node: Node, what: str) -> list[Node] | None:
        """Check that a node is a list; return its items."""
        if isinstance(node, Sequence):
            return node.items
        self.complain(node.line, f"{what} is {self._describe(node)}; write a list, such as [a, b]")
        return None

    def string(self, node: Node, what: str) -> str | None:
        """Check that a node is a string that can be represented in UTF-8."""
        if not isinstance(node, Scalar):
            self.complain(node.line, f"{what} is {self._describe(node)}; write a string")
        elif node.tag != "str":
            self.complain(node.line, self._describe_non_string(node, what))
        elif has_surrogate(node.value):
            self.complain(
                node.line, f"{what} contains a lone surrogate, which is not valid text; write \\U and eight digits"
            )
        else:
            return node.value
        return None

    def matching(self, node: Node, what: str, pattern: re.Pattern[str], advice: str) -> str | None:
        """Check that a node is a string that matches all of `pattern`; `advice` says what to write instead."""
        text = self.string(node, what)
        if text is None or pattern.fullmatch(text):
            return text
        self.complain(node.line, f"{what} is {quote(text)}; {advice}")
        return None

    def boolean(self, node: Node, what: str) -> bool | None:
        """Check that a node is exactly `true` or `false`."""
        if isinstance(node, Scalar) and node.tag == "bool" and node.value in {"true", "false"}:
            return node.value == "true"
        self.complain(node.line, f"{what} is {self._describe(node)}; write true or false")
        return None

    def integer(self, node: Node, what: str, low: int, high: int) -> int | None:
        """Check that a node is a plain decimal number from `low` to `high`."""
        # subtle: in YAML 1.1, 010 is eight, 1:30 is ninety and 1_0 is ten, none of which a user means by it.
        if isinstance(node, Scalar) and node.tag == "int" and _NUMBER.fullmatch(node.value):
            number = int(node.value)
            if low <= number <= high:
                return number
        self.complain(node.line, f"{what} is {self._describe(node)}; write a whole number from {low} to {high}")
        return None

    def _describe(self, node: Node) -> str:
        if isinstance(node, Sequence):
            return "a list"
        if isinstance(node, Mapping):
            return "a mapping"
        if node.tag == "null" and not node.value:
            return "empty"
        if not self._is_recognized:
            return "a string" if node.tag == "str" else _KINDS.get(node.tag, "something else")
        return f"the string {quote(node.value)}" if node.tag == "str" else _raw(node)

    def _describe_non_string(self, node: Scalar, what: str) -> str:
        if node.tag not in _KINDS:
            tag = f"the tag {quote(node.tag)}" if self._is_recognized else "a tag"
            return f"{what} has {tag}; remove the tag and quote the value"
        if node.tag == "null" and not node.value:
            return f'{what} is empty, which YAML reads as nothing, not as a string; write "" for an empty text'
        kind = _KINDS[node.tag]
        if not self._is_recognized:
            return f"{what} is {kind}, not a string; quote it"
        return f"{what} is {_raw(node)}, which YAML reads as {kind}, not as a string; quote it"


def _has_field(root: Node, names: Collection[str]) -> bool:
    """Whether a mapping, or one in a list, has a field with one of these names."""
    nodes = root.items if isinstance(root, Sequence) else [root]
    mappings = [node for node in nodes if isinstance(node, Mapping)]
    keys = chain.from_iterable(mapping.items[::2] for mapping in mappings)
    return any(isinstance(key, Scalar) and key.value in names for key in keys)


def quote(value: str) -> str:
    """Quote a value for a complaint: escaped, on one line, and not too long."""
    return repr(value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…")


def _raw(node: Scalar) -> str:
    return node.value[:_MAX_SHOWN] if node.value.isprintable() else quote(node.value)


Readers: TypeAlias = MappingType[str, Callable[[Checker, Node, str], Any]]
"""Name of a field -> what checks its node, given what to call it in complaints, and returns its value."""


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
