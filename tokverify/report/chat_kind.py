"""The kinds of findings in chat templates: what each one means, and how to repair it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import msgspec

from tokverify.report.finding import ERROR, WARNING, Severity

_FIX = "tokverify fix MODEL -r REFERENCE -o FIXED"
_WRITE_TEMPLATE = "gguf-new-metadata --chat-template-file chat_template.jinja MODEL FIXED"
_USE_REFERENCE = (
    "unless this template was changed on purpose, use the reference's:"
    f" {_WRITE_TEMPLATE}, or with --chat-template-config tokenizer_config.json"
)
_EDIT = f"correct the template in a separate file and write it into a copy of the model: {_WRITE_TEMPLATE}"


@dataclass(frozen=True, slots=True)
class ChatKind:
    """A kind of finding."""

    summary: str
    severity: Severity
    """The highest severity that such a finding can have."""
    repair: str
    """How to repair it; MODEL, REFERENCE, FIXED and TOKEN are placeholders."""


CHAT_KINDS: Mapping[str, ChatKind] = {
    "failing": ChatKind("Only one side, or neither, renders a conversation.", ERROR, _USE_REFERENCE),
    "drift": ChatKind("The template writes a different text than the reference's template.", ERROR, _USE_REFERENCE),
    "white-space": ChatKind(
        "The template writes different white space than the reference's template.", WARNING, _USE_REFERENCE
    ),
    "missing": ChatKind("Only one side has a template with this name.", ERROR, _USE_REFERENCE),
    "ids": ChatKind(
        "The reference encodes the text of a chat to different ids, or one side cannot encode it.", ERROR, _FIX
    ),
    "double-bos": ChatKind("A chat begins with two BOS tokens.", WARNING, _EDIT),
    "split-marker": ChatKind(
        "A marker that the template writes is not a single token.",
        ERROR,
        f"{_FIX}; if no token has this text, the template belongs to another model",
    ),
    "turn-end": ChatKind(
        "No token after the assistant's turn ends the generation, so the model keeps generating.",
        ERROR,
        "declare the token that ends a turn: gguf-new-metadata --special-token eot TOKEN MODEL FIXED; or, if the"
        " template does not write one, correct the template",
    ),
    "generation-prompt": ChatKind(
        "The template writes the same with and without add_generation_prompt, and the answer does not come next.",
        WARNING,
        _EDIT,
    ),
    "lost-content": ChatKind("A message or a tool is missing from the text.", WARNING, _EDIT),
}
"""Name -> kind of finding."""

ChatKindName: TypeAlias = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(CHAT_KINDS)})$")]
"""A key of `CHAT_KINDS`."""
