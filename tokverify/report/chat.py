"""The report of `tokverify chat`: what chat templates write, how it is encoded, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import msgspec

from tokverify.report.difference import Difference
from tokverify.report.fields import Count
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.report.known_difference import KnownDifference
from tokverify.report.run_check import check_difference
from tokverify.report.side import Side

_FIX = "tokverify fix MODEL -r REFERENCE -o FIXED"
_WRITE_TEMPLATE = "gguf-new-metadata --chat-template-file chat_template.jinja MODEL FIXED"
_USE_REFERENCE = (
    f"unless this template was changed on purpose, use the reference's: {_FIX}; or {_WRITE_TEMPLATE}, or with"
    " --chat-template-config tokenizer_config.json"
)
_EDIT = f"correct the template in a separate file and write it into a copy of the model: {_WRITE_TEMPLATE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation to render."""

    id: str
    """Its name."""
    file: str = ""
    """The file it was read from; empty for a conversation that ships with tokverify."""
    line: Count = 0
    """The line in that file, counted from 1."""
    note: str = ""
    """What the conversation catches."""
    needs: str = ""
    """A feature that not every template supports (`tools`, `parts`); such a template may refuse the conversation."""
    messages: Sequence[Mapping[str, object]]
    """The messages, as for HuggingFace transformers' `apply_chat_template`."""
    tools: Sequence[Mapping[str, object]] | None = None
    """The tools, likewise."""
    add_generation_prompt: bool = False
    """Whether the template is asked to begin an answer at the end."""
    variables: Mapping[str, object] = field(default_factory=dict)
    """Other variables that the template can use."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a template makes of a conversation: a text or an error."""

    text: str | None = None
    """The text; None if there is an error."""
    error: str = ""
    """Why there is no text; empty if there is one."""
    deliberate: bool = False
    """Whether the template itself refused the conversation, by `raise_exception`."""


@dataclass(frozen=True, slots=True)
class TextStretch:
    """A part of two texts, as numbers of characters; the whole part is equal, or nothing in it is."""

    actual: Count
    """The length of the part in our text."""
    expected: Count
    """Its length in the text of the reference."""
    equal: bool
    """Whether both texts have the same part."""


@dataclass(frozen=True, slots=True)
class TextDifference:
    """Two aligned texts."""

    blocks: tuple[tuple[TextStretch, ...], ...]
    """Groups of whole lines; together, their stretches cover both texts in order."""


@dataclass(frozen=True, slots=True)
class Template:
    """The templates with one name."""

    name: str
    """The name, such as `default` or `tool_use`."""
    actual: str | None
    """The source on our side; None if there is no such template."""
    expected: str | None = None
    """The source on the reference's side, likewise."""
    difference: TextDifference | None = None
    """Set if both sides have this template and the sources differ."""


@dataclass(frozen=True, slots=True)
class ChatFinding:
    """A problem in one conversation or in several."""

    severity: Severity
    """How serious it is."""
    kind: _ChatKindName
    """What kind of problem it is."""
    template: str
    """The name of the template."""
    message: str
    """What is wrong, in a sentence or two."""
    conversations: tuple[str, ...] = ()
    """Ids of the conversations; empty if the problem concerns the template as a whole."""
    known: KnownDifference | None = None
    """The entry of a baseline that accepts it."""
    refusals: tuple[str, ...] = ()
    """Why entries about the same kind of finding do not accept it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedConversation:
    """A conversation as both sides write and encode it."""

    template: str
    """The name of the template."""
    conversation: str
    """The id of the conversation."""
    actual: Rendering
    """What our template makes of it."""
    expected: Rendering | None = None
    """None if the reference has no such template."""
    text_difference: TextDifference | None = None
    """Set if both sides write a text and the texts differ."""
    actual_ids: tuple[int, ...] | None = None
    """None if there is nothing to encode or the text cannot be encoded."""
    expected_ids: tuple[int, ...] | None = None
    """The reference's ids for the text of its own template, or of ours if it has no template."""
    actual_refusal: str = ""
    """The reason why the text cannot be encoded."""
    expected_refusal: str = ""
    """The same for the reference."""
    difference: Difference | None = None
    """Set if both sides encode the same text to different ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReport:
    """The result of trying chat templates."""

    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of tokverify and the libraries it used."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the user asked for."""
    actual: Side
    """The model whose templates were tried."""
    expected: Side | None
    """The reference; None if there is none."""
    findings: tuple[ChatFinding, ...]
    """The most severe first."""
    unused: tuple[KnownDifference, ...] = ()
    """The entries of a baseline for this model whose kinds of findings were looked for, and not found."""
    not_checked: tuple[str, ...] = ()
    """What could not be checked, and why."""
    templates: tuple[Template, ...]
    """The templates on our side, then those that only the reference has."""
    conversations: tuple[Conversation, ...]
    """The conversations that were tried."""
    results: tuple[RenderedConversation, ...]
    """In the order of templates and conversations."""
    fail_on: Severity | None = Severity.WARNING
    """The lowest severity that fails; None if no finding does."""
    requires_all: bool = False
    """Whether the report also fails if something was not checked."""


def message_texts(messages: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each message; of a content in parts, each part that is a text."""
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        for part in parts:
            text = part.get("text") if isinstance(part, dict) else None
            if isinstance(text, str):
                yield str(message["role"]), text


def count_findings(report: ChatReport, severity: Severity) -> int:
    """Count the findings with a severity that are not accepted."""
    return sum(finding.severity is severity and finding.known is None for finding in report.findings)


def count_accepted(report: ChatReport) -> int:
    """Count the findings that a baseline accepts."""
    return sum(finding.known is not None for finding in report.findings)


def findings_for(report: ChatReport, result: RenderedConversation) -> list[ChatFinding]:
    """Return the findings that concern one result, the most severe first."""
    return [
        finding
        for finding in report.findings
        if finding.template == result.template and result.conversation in finding.conversations
    ]


def chat_exit_code(report: ChatReport) -> int:
    """Return 1 if a finding has at least the severity `fail_on`, or something required was not checked, else 0."""
    return int(fails_unchecked(report) or any(finding_fails(report, finding) for finding in report.findings))


def fails_unchecked(report: ChatReport) -> bool:
    """Check whether the report fails because something was not checked, which happens only on request."""
    return report.requires_all and bool(report.not_checked)


def searched_codes(report: ChatReport) -> frozenset[str]:
    """Return the codes of the findings that were looked for: some need a reference, or its template."""
    if not report.results:
        return frozenset()
    kinds = set(CHAT_KINDS)
    if all(template.expected is None for template in report.templates):
        kinds -= {"drift", "missing", "white-space"}
    if all(result.expected_ids is None for result in report.results):
        kinds -= {"ids", "limit"}
    return frozenset(map(CHAT_CODES.__getitem__, kinds))


def finding_fails(report: ChatReport, finding: ChatFinding) -> bool:
    """Check whether a finding makes the report fail."""
    return finding.known is None and report.fail_on is not None and finding.severity >= report.fail_on


def summarize_chat(report: ChatReport) -> Mapping[str, object]:
    """Return the `summary` of the JSON report."""
    counts = {severity.name.lower(): count_findings(report, severity) for severity in reversed(Severity)}
    return {"exit_code": chat_exit_code(report), **counts, "accepted": count_accepted(report)}


def check_chat(report: ChatReport, path: str) -> Iterator[str]:
    """Yield every inconsistency of a report that was read, as `path: problem`."""
    templates = {template.name for template in report.templates}
    conversations = {conversation.id for conversation in report.conversations}
    for index, conversation in enumerate(report.conversations):
        for number, message in enumerate(conversation.messages):
            if not isinstance(message.get("role"), str):
                place = f"{path}.conversations[{index}].messages[{number}]"
                yield f"{place}: a message needs a `role`, which is a string"
    for index, template in enumerate(report.templates):
        texts = (template.actual, template.expected)
        yield from _check_text_difference(template.difference, texts, f"{path}.templates[{index}].difference")
    for index, finding in enumerate(report.findings):
        place = f"{path}.findings[{index}]"
        yield from _check_names(finding.template, finding.conversations, templates, conversations, place)
    for index, result in enumerate(report.results):
        place = f"{path}.results[{index}]"
        yield from _check_names(result.template, (result.conversation,), templates, conversations, place)
        yield from _check_result(result, place)


def _check_names(
    template: str, ids: Sequence[str], templates: set[str], conversations: set[str], path: str
) -> Iterator[str]:
    if template not in templates:
        yield f"{path}.template: expected the name of a template of this report"
    if not conversations.issuperset(ids):
        yield f"{path}: expected ids of conversations of this report"


def _check_result(result: RenderedConversation, path: str) -> Iterator[str]:
    texts = (result.actual.text, result.expected.text if result.expected else None)
    yield from _check_text_difference(result.text_difference, texts, f"{path}.text_difference")
    if result.difference:
        yield from check_difference(result.difference, f"{path}.difference")


def _check_text_difference(
    difference: TextDifference | None, texts: tuple[str | None, str | None], path: str
) -> Iterator[str]:
    """Check that a difference is there exactly if two texts differ, and covers both."""
    differ = None not in texts and texts[0] != texts[1]
    if (difference is not None) != differ:
        yield f"{path}: required if both sides have a text and the texts differ, and must be null otherwise"
    elif difference:
        stretches = [stretch for block in difference.blocks for stretch in block]
        sizes = (sum(stretch.actual for stretch in stretches), sum(stretch.expected for stretch in stretches))
        if sizes != tuple(len(text or "") for text in texts):
            yield f"{path}: the stretches must cover both texts"


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
    "limit": ChatKind(
        "llama.cpp encodes the text of a chat in another way than the reference, whatever the file contains.",
        INFO,
        "none; see docs/limits-of-gguf.md",
    ),
    "ids": ChatKind(
        "The reference encodes the text of a chat to different ids, or one side cannot encode it.", ERROR, _FIX
    ),
    "double-bos": ChatKind("A chat begins with two BOS tokens.", WARNING, _EDIT),
    "split-marker": ChatKind(
        "A marker that the template writes is not a single token.",
        ERROR,
        f"{_FIX}; if no token has this text, the template belongs to another model",
    ),
    "look-alike": ChatKind(
        "A marker or a role of the template only looks like one, such as one with a letter of another script.",
        ERROR,
        _EDIT,
    ),
    "invisible": ChatKind("The template or an added token contains invisible characters.", WARNING, _EDIT),
    "turn-end": ChatKind(
        "No token after the assistant's turn ends the generation, so the model keeps generating.",
        ERROR,
        "declare the token that ends a turn: gguf-new-metadata --special-token eot TOKEN MODEL FIXED; or, if no token"
        " has the text with which the template ends it, use the template and the tokens of one and the same model",
    ),
    "generation-prompt": ChatKind(
        "The template writes the same with and without add_generation_prompt, and the answer does not come next; or the"
        " prompt begins another turn than the answer.",
        WARNING,
        _EDIT,
    ),
    "cache": ChatKind(
        "The prompt of a conversation is not how the continued conversation begins, so that a prompt cache is lost.",
        WARNING,
        f"write what changes (such as tools or dates) at a place that stays the same; {_EDIT}",
    ),
    "injection": ChatKind(
        "A user's text becomes control tokens, with which it can end its turn and speak for others.",
        WARNING,
        "encode contents separately with parse_special off and send the server ids; leave contents in the template as"
        f" they are; the type of a turn's marker must be CONTROL: {_FIX}",
    ),
    "lost-content": ChatKind("A message or a tool is missing from the text.", WARNING, _EDIT),
}
"""Name -> kind of finding."""

CHAT_CODES: Mapping[str, str] = {kind: f"chat-{kind}" for kind in CHAT_KINDS}
"""Name of a kind -> its code, by which reports for CI systems and baselines name it."""

_ChatKindName: TypeAlias = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(CHAT_KINDS)})$")]
"""A key of `CHAT_KINDS`."""


def repair_of(finding: ChatFinding, report: ChatReport) -> str:
    """Say how to repair what a finding is about; without a reference, its template cannot be used."""
    repair = CHAT_KINDS[finding.kind].repair
    return _EDIT if repair == _USE_REFERENCE and report.expected is None else repair
