"""Write suites: whole ones, and ids into existing ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as MappingType
from textwrap import wrap
from typing import NamedTuple, TypeAlias

from tokverify.case import Case, Expect
from tokverify.cases.yaml_node import Mapping, Node, Scalar, Sequence, parse
from tokverify.text.visible import visible

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\", " ": " "}


def render_suite(cases: Iterable[Case], *, note: str) -> str:
    """Write a suite that takes its name from its file; every text is quoted, with invisible characters escaped."""
    lines = [f"note: {quote_yaml(note)}", "cases:"]
    for case in cases:
        lines += _case_lines(case)
    return "".join(f"{line}\n" for line in lines)


def _case_lines(case: Case) -> Iterator[str]:
    yield f"  - id: {case.id}"
    yield f"    text: {quote_yaml(case.text)}"
    yield f"    note: {quote_yaml(case.note)}"
    if case.add_special:
        yield "    add_special: true"
    if not case.parse_special:
        yield "    parse_special: false"
    if case.tags:
        yield f"    tags: [{', '.join(case.tags)}]"
    if case.expect:
        yield "    expect:"
        yield from (f"      {quote_yaml(key)}: {token_list(expect)}" for key, expect in case.expect.items())


def token_list(expect: Expect) -> str:
    """Write the tokens that a case expects."""
    return f"[{', '.join(quote_yaml(item) if isinstance(item, str) else str(item) for item in expect)}]"


def quote_yaml(text: str) -> str:
    """Write a text in double quotes, as YAML reads them."""
    # Except for its marks for whitespace, `visible` writes the same escapes as YAML.
    return f'"{"".join(_ESCAPES.get(character) or visible(character) for character in text)}"'


Ids: TypeAlias = "tuple[int, ...]"
Expected: TypeAlias = "MappingType[str, Ids]"

_WIDTH = 100
_PLAIN_KEY = re.compile(r"[A-Za-z][\w.+-]*", re.ASCII)


class _Edit(NamedTuple):
    """The replacement of the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def insert_expected(text: str, key: str, expected: Expected) -> str:
    """Return the text of a suite with ids recorded under `key`, replacing those already there.

    If the suite uses YAML aliases, the result may be a different suite or invalid, so parse it before writing it.

    Args:
        text: A suite without complaints and without a byte order mark.
        key: The tokenizer that the ids are for.
        expected: The ids, by the case's id.
    """
    return "".join(_Editor(text, key, expected).parts())


class _Editor:
    def __init__(self, text: str, key: str, expected: Expected) -> None:
        self._text = text
        self._key = key
        self._written_key = key if _is_plain(key) else quote_yaml(key)
        self._expected = expected
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def parts(self) -> Iterator[str]:
        done = 0
        for edit in self._edits():
            yield self._text[done : edit.start]
            yield edit.text
            done = edit.end
        yield self._text[done:]

    def _edits(self) -> Iterator[_Edit]:
        for case in _cases(self._text):
            id = _value(case, "id")
            if isinstance(id, Scalar) and id.value in self._expected:
                yield self._edit(case, self._expected[id.value])

    def _edit(self, case: Mapping, ids: Ids) -> _Edit:
        expect = _value(case, "expect")
        if not isinstance(expect, Mapping):
            pad = self._padding(case)
            entry = self._entry(ids, f"{pad}  ")
            return self._insert(case, f"expect: {{{entry}}}" if case.flow else f"expect:{self._newline}{pad}  {entry}")
        for key, value in expect.pairs():
            if isinstance(key, Scalar) and key.value == self._key:
                # A block list begins on the next line, a list in brackets after a space, so the colon is replaced too.
                return _Edit(key.end, value.end, f": {self._list(ids, self._padding(expect))}")
        return self._insert(expect, self._entry(ids, self._padding(expect)))

    def _entry(self, ids: Ids, padding: str) -> str:
        return f"{self._written_key}: {self._list(ids, padding)}"

    def _list(self, ids: Ids, padding: str) -> str:
        return f"{self._newline}{padding}  ".join(wrap(token_list(ids), _WIDTH))

    def _padding(self, mapping: Mapping) -> str:
        """Return the indentation of a mapping's keys; for a mapping in braces, that of the line where it begins."""
        start = mapping.start if mapping.flow else mapping.items[0].start
        line = self._text[self._text.rfind("\n", 0, start) + 1 : start]
        return " " * (len(line) - len(line.lstrip()) if mapping.flow else len(line))

    def _insert(self, mapping: Mapping, entry: str) -> _Edit:
        end = max((item.end for item in mapping.items), default=mapping.end - 1)
        if mapping.flow:
            return _Edit(end, end, f", {entry}" if mapping.items else entry)
        # subtle: a text in `|` ends with its last newline.
        at = end if self._text[end - 1] == "\n" else self._text.find("\n", end) + 1
        line = f"{self._padding(mapping)}{entry}"
        if at:
            return _Edit(at, at, line + self._newline)
        return _Edit(len(self._text), len(self._text), self._newline + line)


def _is_plain(key: str) -> bool:
    """Check whether YAML reads a key without quotes as this string."""
    parsed = parse(f"{key}: 1") if _PLAIN_KEY.fullmatch(key) else None
    return isinstance(parsed, Mapping) and isinstance(parsed.items[0], Scalar) and parsed.items[0].tag == "str"


def _cases(text: str) -> Iterator[Mapping]:
    root = parse(text)
    cases = _value(root, "cases") if isinstance(root, Mapping) else None
    for node in cases.items if isinstance(cases, Sequence) else ():
        if isinstance(node, Mapping):
            yield node


def _value(node: Mapping, name: str) -> Node | None:
    return next((value for key, value in node.pairs() if isinstance(key, Scalar) and key.value == name), None)
