"""Read a JSON report of `tokverify chat` back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from tokverify.chat.conversation import Conversation
from tokverify.chat.kind import KINDS
from tokverify.chat.rendering import Rendering
from tokverify.report.chat import ChatFinding, ChatReport, Rendered, Template
from tokverify.report.finding import Severity
from tokverify.report.saved.json_node import JsonNode
from tokverify.report.saved.run import restore_difference, restore_side

_TEMPLATE = "the name of one of its templates"
_CONVERSATION = "the id of one of its conversations"


def restore_chat(root: JsonNode) -> ChatReport:
    """Return what came out of trying chat templates.

    Raises:
        TokverifyError: If a part of it is not as it should be.
    """
    templates = tuple(root.get("templates").items(_template))
    conversations = {conversation.id: conversation for conversation in root.get("conversations").items(_conversation)}
    names = [template.name for template in templates]
    return ChatReport(
        actual=restore_side(root.get("actual")),
        expected=root.get("expected").optional(restore_side),
        templates=templates,
        results=tuple(root.get("results").items(partial(_result, names=names, conversations=conversations))),
        findings=tuple(root.get("findings").items(partial(_finding, names=names, conversations=conversations))),
        not_checked=tuple(root.get("not_checked").items(JsonNode.string)),
        options=root.get("options").mapping(),
        versions=root.get("versions").entries(JsonNode.string),
    )


def _template(node: JsonNode) -> Template:
    sides = (node.get(role).optional(JsonNode.string) for role in ("actual", "expected"))
    return Template(node.get("name").string(), *sides)


def _conversation(node: JsonNode) -> Conversation:
    return Conversation(
        id=node.get("id").string(),
        file=node.get("file").string(),
        line=node.get("line").count(),
        note=node.get("note").string(),
        needs=node.get("needs").string(),
        messages=node.get("messages").items(_message),
        tools=node.get("tools").optional(lambda tools: tools.items(JsonNode.mapping)),
        add_generation_prompt=node.get("add_generation_prompt").boolean(),
        variables=node.get("variables").mapping(),
    )


def _message(node: JsonNode) -> dict[str, Any]:
    node.get("role").string()
    return node.mapping()


def _finding(node: JsonNode, names: Collection[str], conversations: Collection[str]) -> ChatFinding:
    return ChatFinding(
        severity=Severity[_one_of(node.get("severity"), Severity.__members__, " or ".join(Severity.__members__))],
        kind=_one_of(node.get("kind"), KINDS, " or ".join(KINDS)),
        message=node.get("message").string(),
        template=_one_of(node.get("template"), names, _TEMPLATE),
        conversations=tuple(
            node.get("conversations").items(partial(_one_of, known=conversations, wanted=_CONVERSATION))
        ),
    )


def _result(node: JsonNode, names: Collection[str], conversations: Mapping[str, Conversation]) -> Rendered:
    actual, expected = node.get("actual"), node.get("expected")
    return Rendered(
        conversation=conversations[_one_of(node.get("conversation"), conversations, _CONVERSATION)],
        template=_one_of(node.get("template"), names, _TEMPLATE),
        actual=_rendering(actual.get("rendering")),
        expected=expected.get("rendering").optional(_rendering),
        actual_ids=actual.get("ids").optional(JsonNode.integers),
        expected_ids=expected.get("ids").optional(JsonNode.integers),
        actual_refusal=actual.get("refusal").string(),
        expected_refusal=expected.get("refusal").string(),
        difference=node.get("difference").optional(restore_difference),
    )


def _rendering(node: JsonNode) -> Rendering:
    return Rendering(
        text=node.get("text").optional(JsonNode.string),
        error=node.get("error").string(),
        deliberate=node.get("deliberate").boolean(),
    )


def _one_of(node: JsonNode, known: Collection[str], wanted: str) -> str:
    """Read a name that is known."""
    name = node.string()
    if name not in known:
        raise node.error(wanted)
    return name
