"""Extract the texts of a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tokverify.report.chat import message_texts

if TYPE_CHECKING:
    from tokverify.report.chat import Conversation


def trimmed_texts(messages: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each message, without the surrounding white space, which templates trim."""
    for role, text in message_texts(messages):
        yield role, text.strip()


def tool_name(tool: Mapping[str, object]) -> str:
    """Return the name of a tool."""
    function = tool.get("function")
    return str(function.get("name", "") if isinstance(function, dict) else tool.get("name", ""))


def all_strings(conversation: Conversation) -> Iterator[str]:
    """Yield every string that a conversation passes to a template."""
    yield from _find_strings([conversation.messages, conversation.tools, conversation.variables])


def _find_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _find_strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _find_strings(item)
