"""The kinds of findings in chat templates: what each means, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tokverify.audit.repair import FIX, new_metadata
from tokverify.report.finding import ERROR, WARNING, Severity

_TEMPLATE_FILE = new_metadata("--chat-template-file", "chat_template.jinja")
_TAKE_THE_REFERENCE_S = (
    f"take the reference's template, unless this one was changed on purpose: {_TEMPLATE_FILE}, or with"
    " --chat-template-config tokenizer_config.json"
)
_EDIT = f"correct the template in a file of its own, and write it into a copy of the model: {_TEMPLATE_FILE}"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a check is about: a sentence, the worst severity that it finds, and the way to put that right."""

    summary: str
    severity: Severity
    repair: str


KINDS: Mapping[str, Kind] = {
    "failing": Kind("A conversation is rendered by one side only, or by none.", ERROR, _TAKE_THE_REFERENCE_S),
    "drift": Kind(
        "A conversation comes out as another text than with the reference's template.", ERROR, _TAKE_THE_REFERENCE_S
    ),
    "white-space": Kind(
        "A conversation comes out with other white space than with the reference's template.",
        WARNING,
        _TAKE_THE_REFERENCE_S,
    ),
    "missing": Kind("One side alone has a template of this name.", ERROR, _TAKE_THE_REFERENCE_S),
    "ids": Kind("The text of a chat gets other ids than the reference gives it, or none.", ERROR, FIX),
    "double-bos": Kind("A chat begins with BOS twice.", ERROR, _EDIT),
    "split-marker": Kind(
        "A marker that the template writes is not one token.",
        ERROR,
        f"{FIX}; where no token is spelled so, the template is another model's",
    ),
    "turn-end": Kind(
        "No token after the assistant's turn ends a generation, so that the model goes on.",
        ERROR,
        f"name the token that ends a turn: {new_metadata('--special-token', 'eot', 'TOKEN')}; or, where the template"
        " writes none, correct that",
    ),
    "generation-prompt": Kind(
        "The template writes the same whether an answer is asked for or not, and the answer does not come next.",
        WARNING,
        _EDIT,
    ),
    "lost-content": Kind("A message or a tool leaves no trace in the text.", WARNING, _EDIT),
}
"""Kind -> what a finding of it is about."""
