"""Suite: the format of one YAML file of cases (docs/cases.md), checked field by field.

Imports PyYAML through `tokverify.cases.checker`, so import this module only where a file is about to be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.cases.case import Case
from tokverify.cases.checker import Checker, shown
from tokverify.cases.yaml_node import Scalar
from tokverify.errors import TokverifyError
from tokverify.system.lfs_pointer import require_fetched

if TYPE_CHECKING:
    from tokverify.cases.case import Expect
    from tokverify.cases.yaml_node import Node

_NAME = re.compile(r"\w[\w.+-]*")
MAX_FILE_BYTES = 16 * 2**20
_MAX_REPEAT = 1_000_000
_MAX_REPEATED_CHARACTERS = 20_000_000
_MAX_ID = 2**31 - 1
_ESCAPE_LOOK_ALIKE = re.compile(r"\\[nrtux0]")
_HIDDEN = re.compile("[\xa0\xad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff]")


@dataclass(slots=True)
class Suite:
    """What was read of one file; `cases` is complete only where there are no complaints.

    `line` is where the suite is named. `hints` are about what is allowed but probably not meant.
    """

    file: str
    name: str
    line: int = 1
    cases: list[Case] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


def read_suite(path: Path, shown_as: str | None = None) -> Suite:
    """Read one file; complaints and cases name it as `shown_as`, by default its path.

    Raises:
        TokverifyError: If the file cannot be read at all.
    """
    name = shown_as or str(path)
    checker = _checker(name)
    source = _read_text(path, checker)
    if source is None:
        return Suite(name, _name_of(path.stem), complaints=checker.complaints)
    return parse_suite(source, name, path.stem)


def parse_suite(source: str, file: str, stem: str) -> Suite:
    """Read the text of a file, which names the suite by its `stem` if the text does not."""
    checker = _checker(file)
    suite = Suite(file, _name_of(stem))
    root = checker.parse(source)
    if root is not None:
        _SuiteReader(checker, suite).read(root)
        suite.hints = _hidden_characters(suite.file, source) + suite.hints
    suite.complaints = checker.complaints
    return suite


def _name_of(stem: str) -> str:
    return re.sub(r"[^\w.+]+", "-", stem).strip("-.+") or "suite"


def _checker(file: str) -> Checker:
    return Checker(file, "a `cases` list")


def _read_text(path: Path, checker: Checker) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TokverifyError(f"{path}: cannot read cases: {reason}; check the path") from error
    require_fetched(path, data)
    if len(data) > MAX_FILE_BYTES:
        checker.complain(1, f"larger than {MAX_FILE_BYTES >> 20} MiB, too large for a suite; split it")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        checker.complain(line, f"byte 0x{data[error.start]:02X} is not UTF-8; save the file as UTF-8")
        return None


def _hidden_characters(file: str, source: str) -> list[str]:
    return [
        f"{file}:{line}: raw U+{ord(found[0]):04X}, which looks like a space or nothing; "
        f"write \\u{ord(found[0]):04x} in double quotes"
        for line, text in enumerate(source.split("\n"), 1)
        if (found := _HIDDEN.search(text))
    ]


class _SuiteReader:
    def __init__(self, checker: Checker, suite: Suite) -> None:
        self._checker = checker
        self._suite = suite
        self._defaults: dict[str, Any] = {}
        self._lines: dict[str, int] = {}
        self._same: dict[tuple[str, bool, bool], Case] = {}
        self._repeated = 0

    def read(self, root: Node) -> None:
        fields = self._checker.mapping(root, "a suite", _SUITE_READERS)
        if fields is None:
            return
        values = _values(self._checker, fields, _SUITE_READERS)
        self._suite.name = values.get("suite") or self._suite.name
        self._suite.line = fields["suite"].line if "suite" in fields else 1
        self._defaults = values.get("defaults") or {}
        nodes = values.get("cases", [])
        if nodes == []:
            self._checker.complain(root.line, "no cases; write a list of at least one under `cases`")
        for node in nodes or ():
            self._read_case(node)

    def _read_case(self, node: Node) -> None:
        fields = self._checker.mapping(node, "a case", _CASE_READERS)
        if fields is None:
            return
        values = _values(self._checker, fields, _CASE_READERS)
        for name in ("id", "text"):
            if name not in fields:
                self._checker.complain(node.line, f"a case has no {name}; add `{name}: ...`")
        self._check_unique(values.get("id"), node.line)
        if None in (values.get("id"), values.get("text")) or None in values.values():
            return
        repeat = values.pop("repeat", 1)
        if not self._fits(values["text"], repeat, node.line):
            return
        values["text"] *= repeat
        values["tags"] = tuple(dict.fromkeys(self._defaults.get("tags", ()) + values.get("tags", ())))
        case = Case(**self._defaults | values, suite=self._suite.name, file=self._suite.file, line=node.line)
        self._suite.cases.append(case)
        self._look_at(case, fields["text"])

    def _check_unique(self, id: str | None, line: int) -> None:
        if id in self._lines:
            message = f"the id {shown(id)} is taken, first on line {self._lines[id]}; rename one"
            self._checker.complain(line, message)
        elif id is not None:
            self._lines[id] = line

    def _fits(self, text: str, repeat: int, line: int) -> bool:
        if repeat > 1:
            self._repeated += len(text) * repeat
        if self._repeated <= _MAX_REPEATED_CHARACTERS:
            return True
        limit = f"{_MAX_REPEATED_CHARACTERS:,}"
        self._checker.complain(line, f"repeat makes more than {limit} characters in this file; lower it")
        return False

    def _look_at(self, case: Case, text: Node) -> None:
        here = f"{case.file}:{text.line}: "
        quoted = isinstance(text, Scalar) and text.style in {'"', "|", ">"}
        if not quoted and (found := _ESCAPE_LOOK_ALIKE.search(case.text)):
            message = f"text holds a backslash and {found[0][1]!r}; if an escape is meant, use double quotes"
            self._suite.hints.append(here + message)
        if not case.note:
            self._suite.hints.append(f"{here}case {case.id} has no note; say what it is there to catch")
        first = self._same.setdefault((case.text, case.add_special, case.parse_special), case)
        if first is not case:
            message = f"case {case.id} repeats {first.id} on line {first.line}; drop one"
            self._suite.hints.append(here + message)


def _values(
    checker: Checker, fields: Mapping[str, Node], readers: Mapping[str, Callable[[Checker, Node, str], Any]]
) -> dict[str, Any]:
    return {name: readers[name](checker, node, name) for name, node in fields.items()}


def _read_name(checker: Checker, node: Node, what: str) -> str | None:
    return checker.matching(node, what, _NAME, "use letters, digits, `_`, `.`, `+` and `-` only")


def _read_tags(checker: Checker, node: Node, what: str) -> tuple[str, ...]:
    tags = [_read_name(checker, item, "a tag") for item in checker.sequence(node, what) or ()]
    return tuple(tag for tag in tags if tag is not None)


def _read_expect(checker: Checker, node: Node, what: str) -> dict[str, Expect]:
    return {name: _read_tokens(checker, value, shown(name)) for name, value in checker.entries(node, what)}


def _read_tokens(checker: Checker, node: Node, whose: str) -> Expect:
    items = checker.sequence(node, f"the ids of {whose}") or []
    strings = [isinstance(item, Scalar) and item.tag == "str" for item in items]
    if not any(strings):
        ids = [checker.integer(item, f"an id of {whose}", 0, _MAX_ID) for item in items]
        return tuple(id for id in ids if id is not None)
    if not all(strings):
        line = items[strings.index(False)].line
        checker.complain(line, f"the list of {whose} mixes pieces with others; quote every piece, or write ids only")
        return ()
    pieces = [checker.string(item, f"a piece of {whose}") for item in items]
    return tuple(piece for piece in pieces if piece is not None)


def _read_repeat(checker: Checker, node: Node, what: str) -> int | None:
    return checker.integer(node, what, 1, _MAX_REPEAT)


def _read_defaults(checker: Checker, node: Node, what: str) -> dict[str, Any]:
    values = _values(checker, checker.mapping(node, what, _DEFAULT_READERS) or {}, _DEFAULT_READERS)
    return {name: value for name, value in values.items() if value is not None}


_DEFAULT_READERS: Mapping[str, Callable[[Checker, Node, str], Any]] = {
    "add_special": Checker.boolean,
    "parse_special": Checker.boolean,
    "tags": _read_tags,
}
_CASE_READERS: Mapping[str, Callable[[Checker, Node, str], Any]] = {
    "id": _read_name,
    "text": Checker.string,
    "note": Checker.string,
    "expect": _read_expect,
    "repeat": _read_repeat,
    **_DEFAULT_READERS,
}
_SUITE_READERS: Mapping[str, Callable[[Checker, Node, str], Any]] = {
    "suite": _read_name,
    "note": Checker.string,
    "defaults": _read_defaults,
    "cases": Checker.sequence,
}
