"""What stands in a conversation, apart from how a template frames it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokverify.chat.conversation import Conversation


def message_texts(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the role of each message, and its text; of a content in parts each text that is one."""
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        for part in parts:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield message["role"], part["text"]


def contents(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the same without the white space around the texts, which templates trim."""
    for role, text in message_texts(messages):
        yield role, text.strip()


def tool_name(tool: Mapping[str, Any]) -> str:
    """Return what a tool is called."""
    function = tool.get("function")
    return str(function.get("name", "") if isinstance(function, dict) else tool.get("name", ""))


def strings(conversation: Conversation) -> Iterator[str]:
    """Yield every text that a conversation hands to a template."""
    yield from _strings([conversation.messages, conversation.tools, conversation.variables])


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for item in items:
        yield from _strings(item)
