"""Checker: checks on the nodes of one YAML file that collect complaints instead of stopping at the first.

YAML silently turns some texts into something else; everything here refuses rather than guesses.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from operator import itemgetter
from typing import TYPE_CHECKING

from tokverify.cases.yaml_node import Mapping, Scalar, Sequence, YamlError, parse

if TYPE_CHECKING:
    from tokverify.cases.yaml_node import Node

# subtle: U+0085, U+2028 and U+2029 are line breaks in YAML 1.1, so raw ones do not survive.
_NEVER_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_MAX_COMPLAINTS = 100
_MAX_SHOWN = 40
_KINDS = {
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "null": "nothing",
    "timestamp": "a date",
    "merge": "a merge key",
    "value": "a default value",
}


class Checker:
    """The complaints about one file, and the checks that add to them.

    A check that cannot return its value has complained and returns None. `what` names the thing checked; `content` is
    what the file must at least hold.
    """

    def __init__(self, file: str, content: str) -> None:
        self._file = file
        self._content = content
        self._found: list[tuple[int, str]] = []

    @property
    def complaints(self) -> list[str]:
        """All complaints in the order of their lines, each beginning with `file:line: `."""
        ordered = sorted(self._found, key=itemgetter(0))
        complaints = [f"{self._file}:{line}: {message}" for line, message in ordered[:_MAX_COMPLAINTS]]
        if len(ordered) > _MAX_COMPLAINTS:
            left = len(ordered) - _MAX_COMPLAINTS
            complaints.append(f"{self._file}: {left:,} more complaints left out; fix these first")
        return complaints

    def complain(self, line: int, message: str) -> None:
        """Add a complaint about a line (1-based)."""
        self._found.append((line, message))

    def parse(self, text: str) -> Node | None:
        """Parse a whole file."""
        for line, source in enumerate(text.split("\n"), 1):
            if found := _NEVER_RAW.search(source):
                code = f"{ord(found[0]):04X}"
                self.complain(line, f"raw character U+{code}; write it as \\u{code} in double quotes")
        if self._found:
            return None
        try:
            root = parse(text)
        except YamlError as error:
            self.complain(error.line, str(error))
            return None
        if root is None:
            self.complain(1, f"the file is empty; write at least {self._content}")
        return root

    def mapping(self, node: Node, what: str, known: Collection[str]) -> dict[str, Node] | None:
        """Check a mapping's keys against `known`; return the good part of it, None if it is no mapping."""
        fields: dict[str, Node] = {}
        for name, value in self.entries(node, what):
            if name in known:
                fields[name] = value
                continue
            near = get_close_matches(name[:_MAX_SHOWN], known, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            self.complain(value.line, f"{what} has an unknown field {shown(name)}; {advice}")
        return fields if isinstance(node, Mapping) else None

    def entries(self, node: Node, what: str) -> Iterator[tuple[str, Node]]:
        """Go through a mapping, checking that its keys are strings and each there once."""
        if not isinstance(node, Mapping):
            self.complain(node.line, f"{what} is {_describe(node)}; write it as lines of `name: value`")
            return
        first_lines: dict[str, int] = {}
        for key, value in node.pairs():
            name = self.string(key, f"a field name of {what}")
            if name in first_lines:
                message = f"{what} has {shown(name)} twice, first on line {first_lines[name]}; remove one"
                self.complain(key.line, message)
            elif name is not None:
                first_lines[name] = key.line
                yield name, value

    def sequence(self, node: Node, what: str) -> list[Node] | None:
        """Check that a node is a list; return its items."""
        if isinstance(node, Sequence):
            return node.items
        self.complain(node.line, f"{what} is {_describe(node)}; write a list, such as [a, b]")
        return None

    def string(self, node: Node, what: str) -> str | None:
        """Check that a node is a string, and one that UTF-8 can hold."""
        if not isinstance(node, Scalar):
            self.complain(node.line, f"{what} is {_describe(node)}; write a string")
        elif node.tag != "str":
            self.complain(node.line, _not_a_string(node, what))
        elif any("\ud800" <= character <= "\udfff" for character in node.value):
            self.complain(node.line, f"{what} holds a lone surrogate, which no text can; write \\U and eight digits")
        else:
            return node.value
        return None

    def matching(self, node: Node, what: str, pattern: re.Pattern[str], wanted: str) -> str | None:
        """Check that a node is a string that matches `pattern` as a whole; `wanted` says what to write."""
        text = self.string(node, what)
        if text is None or pattern.fullmatch(text):
            return text
        self.complain(node.line, f"{what} is {shown(text)}; {wanted}")
        return None

    def boolean(self, node: Node, what: str) -> bool | None:
        """Check that a node is exactly `true` or `false`."""
        if isinstance(node, Scalar) and node.tag == "bool" and node.value in {"true", "false"}:
            return node.value == "true"
        self.complain(node.line, f"{what} is {_describe(node)}; write true or false")
        return None

    def integer(self, node: Node, what: str, low: int, high: int) -> int | None:
        """Check that a node is a plain decimal number from `low` to `high`."""
        # subtle: to YAML 1.1, 010 is eight, 1:30 ninety and 1_0 ten; none of them is meant by an id.
        if isinstance(node, Scalar) and node.tag == "int" and _NUMBER.fullmatch(node.value):
            number = int(node.value)
            if low <= number <= high:
                return number
        self.complain(node.line, f"{what} is {_describe(node)}; write a whole number from {low} to {high}")
        return None


def shown(value: str) -> str:
    """Quote a value for a complaint: on one line, nothing invisible, not too long."""
    return repr(value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…")


def _describe(node: Node) -> str:
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a mapping"
    if node.tag == "null" and not node.value:
        return "empty"
    return f"the string {shown(node.value)}" if node.tag == "str" else _raw(node)


def _raw(node: Scalar) -> str:
    return node.value[:_MAX_SHOWN] if node.value.isprintable() else shown(node.value)


def _not_a_string(node: Scalar, what: str) -> str:
    if node.tag not in _KINDS:
        return f"{what} has the tag {shown(node.tag)}; remove the tag and quote the value"
    if node.tag == "null" and not node.value:
        return f'{what} is empty, which YAML reads as nothing, not as a string; write "" for no text'
    kind = _KINDS[node.tag]
    return f"{what} is {_raw(node)}, which YAML reads as {kind}, not as a string; quote it"
