"""Read conversations from YAML, strictly: every error names the file and the line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tokverify.cases.checker import Checker, Readers, quote, read_entries, read_fields
from tokverify.cases.yaml_node import Mapping, Node, Sequence
from tokverify.chat.worker import MAX_CHARACTERS
from tokverify.errors import TokverifyError
from tokverify.report.chat import Conversation
from tokverify.system.input_file import read_text

SHIPPED = Path(__file__).with_name("conversations.yaml")
_BOOLEANS = {"true": True, "false": False}


def load_conversations(path: Path | None = None) -> list[Conversation]:
    """Read a file of conversations; by default, the one that ships with tokverify.

    Raises:
        TokverifyError: If anything is wrong; the message has one line per problem.
    """
    file = str(path) if path else ""
    seen: dict[str, int] = {}

    def read(checker: Checker, node: Node) -> Conversation | None:
        return _read(checker, node, file, seen)

    conversations = read_entries(path or SHIPPED, "conversation", read, marks=("messages",))
    if not conversations:
        raise TokverifyError(f"{path}: no conversations; write at least one")
    return conversations


def read_content(path: Path) -> Conversation:
    """Read a text of a user, whatever it contains.

    Raises:
        TokverifyError: If the file cannot be read, or is not UTF-8.
    """
    text = read_text(path, "content", MAX_CHARACTERS)
    messages = [{"role": "user", "content": text}]
    return Conversation(id="content", file=str(path), line=1, messages=messages, add_generation_prompt=True)


def _read(checker: Checker, node: Node, file: str, seen: dict[str, int]) -> Conversation | None:
    values = read_fields(checker, node, "conversation", _READERS, ("id",))
    if values is None:
        return None
    if not values.get("messages"):
        checker.complain(node.line, "a conversation has no messages; write at least one under `messages`")
        return None
    if values["id"] in seen:
        message = f"the id {quote(values['id'])} is already used on line {seen[values['id']]}; rename one of them"
        checker.complain(node.line, message)
    seen.setdefault(values["id"], node.line)
    return Conversation(**values, file=file, line=node.line)


def _objects(
    checker: Checker, node: Node, what: str, *, read: Callable[[Checker, Node], dict[str, Any] | None]
) -> list[dict[str, Any]] | None:
    """Read a list of objects; return None if it is not a list or one of them is invalid."""
    items = checker.sequence(node, what)
    found = [read(checker, item) for item in items or ()]
    whole = [item for item in found if item is not None]
    return whole if items is not None and len(whole) == len(found) else None


def _message(checker: Checker, node: Node) -> dict[str, Any] | None:
    message = _object(checker, node, "a message")
    if message is not None and not isinstance(message.get("role"), str):
        checker.complain(node.line, "a message has no role; add `role: user` or another role")
    return message


def _object(checker: Checker, node: Node, what: str) -> dict[str, Any] | None:
    fields = {name: _plain(checker, value, name) for name, value in checker.entries(node, what)}
    return fields if isinstance(node, Mapping) else None


def _plain(checker: Checker, node: Node, what: str) -> Any:  # noqa: ANN401 - any JSON value
    """Convert a node to a JSON value; only what YAML calls a string becomes one."""
    if isinstance(node, Mapping):
        return _object(checker, node, what)
    if isinstance(node, Sequence):
        return [_plain(checker, item, f"an item of {what}") for item in node.items]
    if node.tag == "bool" and node.value in _BOOLEANS:
        return _BOOLEANS[node.value]
    if node.tag == "int":
        return checker.integer(node, what, 0, 10**9)
    if node.tag == "null" and node.value:
        return None
    return checker.string(node, what)


_READERS: Readers = {
    "id": Checker.string,
    "note": Checker.string,
    "needs": Checker.string,
    "messages": partial(_objects, read=_message),
    "tools": partial(_objects, read=partial(_object, what="a tool")),
    "add_generation_prompt": Checker.boolean,
    "variables": _object,
}
