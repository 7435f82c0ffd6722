"""Let a server render conversations with its own chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tokverify.errors import EncodeError
from tokverify.report.chat import Conversation, Rendering


@runtime_checkable
class ChatRendering(Protocol):
    """Renders conversations with a template of its own."""

    def render_chats(self, conversations: Sequence[Mapping[str, Any]]) -> Sequence[str | EncodeError | None]:
        """Return the text of each conversation, or why there is none; None if it cannot be compared.

        Args:
            conversations: Objects with `messages`, `tools` if there are any, and `add_generation_prompt`.
        """


def render_served(tokenizer: ChatRendering, conversations: Sequence[Conversation]) -> list[Rendering | None]:
    """Render conversations; variables other than messages, tools and the generation prompt are not sent."""
    return list(map(_to_rendering, tokenizer.render_chats(list(map(_to_request, conversations)))))


def _to_rendering(text: str | EncodeError | None) -> Rendering | None:
    if text is None:
        return None
    return Rendering(error=str(text)) if isinstance(text, EncodeError) else Rendering(text=text)


def _to_request(conversation: Conversation) -> Mapping[str, Any]:
    tools = {} if conversation.tools is None else {"tools": list(conversation.tools)}
    return {
        "messages": list(conversation.messages),
        **tools,
        "add_generation_prompt": conversation.add_generation_prompt,
    }
