"""Read one YAML file of cases (see docs/cases.md) and check every field.

This imports PyYAML, so import it only where a file is about to be read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokverify.case import Case, Expect, Suite
from tokverify.cases.checker import Checker, Readers, quote
from tokverify.cases.yaml_node import Node, Scalar
from tokverify.system.input_file import UnfitContentError, read_text

_NAME = re.compile(r"\w[\w.+-]*")
MAX_FILE_BYTES = 16 * 2**20
_MAX_REPEAT = 1_000_000
_MAX_REPEATED_CHARACTERS = 1_000_000
_MAX_ID = 2**31 - 1
_ESCAPE_LOOK_ALIKE = re.compile(r"\\[nrtux0]")
_HIDDEN = re.compile("[\xa0\xad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff]")


def read_suite(path: Path, display_name: str | None = None) -> Suite:
    """Read one file; complaints and cases call it `display_name`, by default its path.

    Raises:
        TokverifyError: If the file cannot be read at all.
    """
    name = display_name or str(path)
    try:
        source = read_text(path, "cases", MAX_FILE_BYTES)
    except UnfitContentError as error:
        return Suite(name, _default_name(path.stem), complaints=[f"{name}:{error.line}: {error.problem}"])
    return parse_suite(source, name, path.stem)


def parse_suite(source: str, file: str, stem: str) -> Suite:
    """Read the text of a file; the suite is named after the `stem` of the file name unless the text names it."""
    checker = Checker(file, "a `cases` list", ("cases", "suite", "defaults"))
    suite = Suite(file, _default_name(stem))
    root = checker.parse(source)
    if root is not None:
        _SuiteReader(checker, suite).read(root)
        suite.hints = _find_hidden_characters(suite.file, source) + suite.hints
    suite.complaints = checker.complaints
    return suite


def _default_name(stem: str) -> str:
    return re.sub(r"[^\w.+]+", "-", stem).strip("-.+") or "suite"


def _find_hidden_characters(file: str, source: str) -> list[str]:
    hints = []
    for line, text in enumerate(source.split("\n"), 1):
        match = _HIDDEN.search(text)
        if match:
            code = f"{ord(match[0]):04x}"
            advice = f"write \\u{code} in double quotes"
            hints.append(f"{file}:{line}: raw U+{code.upper()}, which is invisible or looks like a space; {advice}")
    return hints


class _SuiteReader:
    def __init__(self, checker: Checker, suite: Suite) -> None:
        self._checker = checker
        self._suite = suite
        self._defaults: dict[str, Any] = {}
        self._lines: dict[str, int] = {}
        self._by_input: dict[tuple[str, bool, bool], Case] = {}
        self._repeated = 0

    def read(self, root: Node) -> None:
        fields = self._checker.mapping(root, "a suite", _SUITE_READERS)
        if fields is None:
            return
        values = _read_values(self._checker, fields, _SUITE_READERS)
        self._suite.name = values.get("suite") or self._suite.name
        self._suite.line = fields["suite"].line if "suite" in fields else 1
        self._defaults = values.get("defaults") or {}
        nodes = values.get("cases", [])
        if nodes == []:
            self._checker.complain(root.line, "no cases; write a list of at least one case under `cases`")
        for node in nodes or ():
            self._read_case(node)

    def _read_case(self, node: Node) -> None:
        fields = self._checker.mapping(node, "a case", _CASE_READERS)
        if fields is None:
            return
        values = _read_values(self._checker, fields, _CASE_READERS)
        for name in ("id", "text"):
            if name not in fields:
                self._checker.complain(node.line, f"a case has no {name}; add `{name}: ...`")
        self._check_unique(values.get("id"), node.line)
        if None in (values.get("id"), values.get("text")) or None in values.values():
            return
        repeat = values.pop("repeat", 1)
        if not self._check_size(values["text"], repeat, node.line):
            return
        values["text"] *= repeat
        values["tags"] = tuple(dict.fromkeys(self._defaults.get("tags", ()) + values.get("tags", ())))
        case = Case(**self._defaults | values, suite=self._suite.name, file=self._suite.file, line=node.line)
        self._suite.cases.append(case)
        self._add_hints(case, fields["text"])

    def _check_unique(self, id: str | None, line: int) -> None:
        if id in self._lines:
            message = f"the id {quote(id)} is already used on line {self._lines[id]}; rename one"
            self._checker.complain(line, message)
        elif id is not None:
            self._lines[id] = line

    def _check_size(self, text: str, repeat: int, line: int) -> bool:
        if repeat > 1:
            self._repeated += len(text) * repeat
        if self._repeated <= _MAX_REPEATED_CHARACTERS:
            return True
        limit = f"{_MAX_REPEATED_CHARACTERS:,}"
        self._checker.complain(line, f"repeat produces more than {limit} characters in this file; reduce it")
        return False

    def _add_hints(self, case: Case, text: Node) -> None:
        here = f"{case.file}:{text.line}: "
        is_quoted = isinstance(text, Scalar) and text.style in {'"', "|", ">"}
        escape = None if is_quoted else _ESCAPE_LOOK_ALIKE.search(case.text)
        if escape:
            message = f"text contains a backslash and {escape[0][1]!r}; to write an escape, use double quotes"
            self._suite.hints.append(here + message)
        if not case.note:
            self._suite.hints.append(f"{here}case {case.id} has no note; explain what it is meant to catch")
        first = self._by_input.setdefault((case.text, case.add_special, case.parse_special), case)
        if first is not case:
            message = f"case {case.id} repeats {first.id} on line {first.line}; remove one"
            self._suite.hints.append(here + message)


def _read_values(checker: Checker, fields: Mapping[str, Node], readers: Readers) -> dict[str, Any]:
    return {name: readers[name](checker, node, name) for name, node in fields.items()}


def _read_name(checker: Checker, node: Node, what: str) -> str | None:
    return checker.matching(node, what, _NAME, "use letters, digits, `_`, `.`, `+` and `-` only")


def _read_tags(checker: Checker, node: Node, what: str) -> tuple[str, ...]:
    tags = [_read_name(checker, item, "a tag") for item in checker.sequence(node, what) or ()]
    return tuple(tag for tag in tags if tag is not None)


def _read_expect(checker: Checker, node: Node, what: str) -> dict[str, Expect]:
    return {name: _read_tokens(checker, value, quote(name)) for name, value in checker.entries(node, what)}


def _read_tokens(checker: Checker, node: Node, tokenizer: str) -> Expect:
    items = checker.sequence(node, f"the ids of {tokenizer}") or []
    are_strings = [isinstance(item, Scalar) and item.tag == "str" for item in items]
    if not any(are_strings):
        ids = [checker.integer(item, f"an id of {tokenizer}", 0, _MAX_ID) for item in items]
        return tuple(id for id in ids if id is not None)
    if all(are_strings):
        pieces = [checker.string(item, f"a piece of {tokenizer}") for item in items]
        return tuple(piece for piece in pieces if piece is not None)
    line = items[are_strings.index(False)].line
    message = f"the list of {tokenizer} mixes pieces with other values; quote every piece, or write only ids"
    checker.complain(line, message)
    return ()


def _read_defaults(checker: Checker, node: Node, what: str) -> dict[str, Any]:
    values = _read_values(checker, checker.mapping(node, what, _DEFAULT_READERS) or {}, _DEFAULT_READERS)
    return {name: value for name, value in values.items() if value is not None}


_DEFAULT_READERS: Readers = {
    "add_special": Checker.boolean,
    "parse_special": Checker.boolean,
    "tags": _read_tags,
}
_CASE_READERS: Readers = {
    "id": _read_name,
    "text": Checker.string,
    "note": Checker.string,
    "expect": _read_expect,
    "repeat": lambda checker, node, what: checker.integer(node, what, 1, _MAX_REPEAT),
    **_DEFAULT_READERS,
}
_SUITE_READERS: Readers = {
    "suite": _read_name,
    "note": Checker.string,
    "defaults": _read_defaults,
    "cases": Checker.sequence,
}
