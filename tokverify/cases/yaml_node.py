"""Parse YAML into nodes that know where they stand; knows nothing of cases.

Imports PyYAML, so import this module only where a file is about to be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.resolver import Resolver

_MAX_DEPTH = 20
_MAX_NODES = 1_000_000


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value; `tag` is what YAML takes it for (`str`, `int`, ...), `style` its quote sign or None.

    As for all nodes, `line` is 1-based, and `start` and `end` are offsets in characters, quotes and anchor included. An
    alias is the very node it stands for, with the place of that.
    """

    line: int
    value: str
    tag: str
    style: str | None
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Sequence:
    """A list; `flow` where it is written in brackets."""

    line: int
    items: list[Node] = field(default_factory=list)
    start: int = 0
    end: int = 0
    flow: bool = False


@dataclass(slots=True)
class Mapping:
    """Keys and values, `items` holding them in turn, duplicates included; `flow` where it is written in braces."""

    line: int
    items: list[Node] = field(default_factory=list)
    start: int = 0
    end: int = 0
    flow: bool = False

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Pair up keys and values in the order written."""
        return zip(self.items[::2], self.items[1::2], strict=True)


Node = Scalar | Sequence | Mapping


class YamlError(Exception):
    """A text is not YAML, or YAML of a shape that no honest file has; `line` is 1-based."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def parse(text: str) -> Node | None:
    """Parse one YAML document; None if there is none.

    Builds from parser events, because PyYAML's own composer recurses (its C version dies on deep nesting) and
    follows any number of aliases.

    Raises:
        YamlError: On the first fault.
    """
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(text, loader):
            builder.feed(event)
    except yaml.MarkedYAMLError as error:
        raise _explained(error, text) from error
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(1, f"not valid YAML: {str(error).splitlines()[0]}; fix or remove it") from error
    return builder.root


def _explained(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    """Turn PyYAML's several lines into a line number and one sentence."""
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
    return YamlError(line, f"not valid YAML: {error.problem}; {advice}")


def _end(node: Sequence | Mapping, event: yaml.CollectionEndEvent) -> int:
    # subtle: without brackets, the event stands where the next thing begins, after comments and blank lines.
    return _offset(event.end_mark) if node.flow else max((item.end for item in node.items), default=node.start)


def _offset(mark: Any) -> int:  # noqa: ANN401 - each of PyYAML's two parsers has marks of its own
    return mark.index if mark else 0


@dataclass(slots=True)
class _Open:
    """A list or mapping not yet closed; `size` counts its nodes with aliases expanded."""

    node: Sequence | Mapping
    anchor: str | None
    size: int = 1


class _Builder:
    def __init__(self) -> None:
        self.root: Node | None = None
        self._resolver: Any = Resolver()
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Node, int]] = {}

    def feed(self, event: yaml.Event) -> None:
        line: int = event.start_mark.line + 1 if event.start_mark else 1
        start = _offset(event.start_mark)
        match event:
            case yaml.ScalarEvent():
                self._add(self._scalar(event, line), event.anchor, 1)
            case yaml.AliasEvent():
                self._add(*self._aliased(event.anchor, line))
            case yaml.SequenceStartEvent():
                self._push(Sequence(line, start=start, flow=bool(event.flow_style)), event.anchor)
            case yaml.MappingStartEvent():
                self._push(Mapping(line, start=start, flow=bool(event.flow_style)), event.anchor)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                done = self._open.pop()
                done.node.end = _end(done.node, event)
                self._add(done.node, done.anchor, done.size)
            case yaml.DocumentStartEvent() if self.root is not None:
                raise YamlError(line, "a second YAML document begins; write one suite a file, without `---`")

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Scalar:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
        tag = tag.removeprefix("tag:yaml.org,2002:")
        span = _offset(event.start_mark), _offset(event.end_mark)
        return Scalar(line, event.value, tag, event.style or None, *span)

    def _aliased(self, name: str | None, line: int) -> tuple[Node, None, int]:
        if name is None or name not in self._anchors:
            raise YamlError(line, f"the alias *{name} has no finished anchor &{name} above it; write one")
        node, size = self._anchors[name]
        return node, None, size

    def _push(self, node: Sequence | Mapping, anchor: str | None) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise YamlError(node.line, f"nested more than {_MAX_DEPTH} deep; five levels are enough for any file")
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
            raise YamlError(node.line, f"more than {_MAX_NODES:,} values, aliases expanded; split the file")
