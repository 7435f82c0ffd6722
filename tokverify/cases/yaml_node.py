"""Parse YAML into nodes with their positions in the file.

This imports PyYAML, so import it only where a file is about to be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.resolver import Resolver

_MAX_DEPTH = 20
_MAX_NODES = 1_000_000


@dataclass(slots=True)
class Scalar:
    """A single value.

    An alias is represented by the node it refers to, with the position of that node.
    """

    line: int
    """Starts at 1, as in all nodes."""
    value: str
    tag: str
    """The type that YAML gives the value: `str`, `int`, ..."""
    style: str | None
    """The quotation mark, or None."""
    start: int = 0
    """The offset of the first character, as in all nodes; quotes and anchor are included."""
    end: int = 0
    """The offset after the last character, as in all nodes."""


@dataclass(slots=True)
class Sequence:
    """A list; `flow` if it is written in brackets."""

    line: int
    items: list[Node] = field(default_factory=list)
    start: int = 0
    end: int = 0
    flow: bool = False


@dataclass(slots=True)
class Mapping:
    """Keys and values, alternating in `items` and including duplicate keys; `flow` if it is written in braces."""

    line: int
    items: list[Node] = field(default_factory=list)
    start: int = 0
    end: int = 0
    flow: bool = False

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Pair keys with values, in order."""
        return zip(self.items[::2], self.items[1::2], strict=True)


Node = Scalar | Sequence | Mapping


class YamlError(Exception):
    """A text is not valid YAML, or is nested or expanded beyond the limits; `line` starts at 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def parse(text: str) -> Node | None:
    """Parse one YAML document; None if the text contains none.

    This builds nodes from parser events because PyYAML's own composer is recursive (its C version crashes on deep
    nesting) and follows any number of aliases.

    Raises:
        YamlError: At the first error.
    """
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, loader):
            builder.feed(event)
    except yaml.MarkedYAMLError as error:
        raise _explain(error, text) from error
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(1, "not valid YAML; check that the file is text") from error
    return builder.root


def _explain(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    """Convert PyYAML's message of several lines to a line number and one sentence."""
    mark = error.problem_mark or error.context_mark
    line: int = mark.line + 1 if mark else 1
    source = [*text.splitlines(), ""][line - 1]
    indent = source[: len(source) - len(source.lstrip())]
    if "escape" in (error.problem or ""):
        advice = "write \\\\ for a backslash, \\U and eight digits for a character above U+FFFF"
    elif "\t" in indent or (mark and source[mark.column :][:1] == "\t"):
        advice = "indent with spaces, not tabs, and in a text write \\t in double quotes"
    else:
        advice = "check indentation, colons and quotes"
    # The only problem that the parsers describe with more than one character of the file.
    problem = "found an undefined tag handle" if "tag handle" in (error.problem or "") else error.problem
    return YamlError(line, f"not valid YAML: {problem}; {advice}")


def _end(node: Sequence | Mapping, event: yaml.CollectionEndEvent) -> int:
    # subtle: without brackets, the end event is where the next node begins, after comments and blank lines.
    return _offset(event.end_mark) if node.flow else max((item.end for item in node.items), default=node.start)


def _offset(mark: Any) -> int:  # noqa: ANN401 - PyYAML's two parsers have different types of marks
    return mark.index if mark else 0


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not closed yet; `size` counts its nodes with aliases expanded."""

    node: Sequence | Mapping
    anchor: str | None
    size: int = 1


class _Builder:
    def __init__(self) -> None:
        self.root: Node | None = None
        self._resolver: Any = Resolver()
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._has_aliases = False

    def feed(self, event: yaml.Event) -> None:
        line: int = event.start_mark.line + 1 if event.start_mark else 1
        start = _offset(event.start_mark)
        match event:
            case yaml.ScalarEvent():
                self._add(self._scalar(event, line), event.anchor, 1)
            case yaml.AliasEvent():
                self._add(*self._expand(event.anchor, line))
            case yaml.SequenceStartEvent():
                self._push(Sequence(line, start=start, flow=bool(event.flow_style)), event.anchor)
            case yaml.MappingStartEvent():
                self._push(Mapping(line, start=start, flow=bool(event.flow_style)), event.anchor)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                done = self._open.pop()
                done.node.end = _end(done.node, event)
                self._add(done.node, done.anchor, done.size)
            case yaml.DocumentStartEvent() if self.root is not None:
                raise YamlError(line, "a second YAML document begins; write one suite per file, without `---`")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        tag = tag.removeprefix("tag:yaml.org,2002:")
        span = _offset(event.start_mark), _offset(event.end_mark)
        return Scalar(line, event.value, tag, event.style or None, *span)

    def _expand(self, name: str | None, line: int) -> tuple[Node, None, int]:
        if name is None or name not in self._anchors:
            raise YamlError(line, "an alias (*) has no finished anchor (&) of the same name above it; write one")
        self._has_aliases = True
        node, size = self._anchors[name]
        return node, None, size

    def _push(self, node: Sequence | Mapping, anchor: str | None) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise YamlError(node.line, f"nested more than {_MAX_DEPTH} levels deep; every valid file has at most five")
        self._open.append(_Open(node, anchor))

    def _add(self, node: Node, anchor: str | None, size: int) -> None:
        if anchor:
            self._anchors[anchor] = (node, size)
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        parent.node.items.append(node)
        parent.size += size
        if parent.size > _MAX_NODES:
            expanded = " with aliases expanded" if self._has_aliases else ""
            raise YamlError(node.line, f"more than {_MAX_NODES:,} values{expanded}; split the file")
