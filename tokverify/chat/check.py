"""The checks of rendered conversations: each looks at one thing and yields what is wrong with it.

A new check is one function and one line in `CHECKS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokverify.audit.finding import ERROR, INFO, WARNING, Severity
from tokverify.audit.wording import quoted, shortened
from tokverify.parting import common_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from tokverify.audit.marker import TemplateMarkers
    from tokverify.chat.report import Rendered
    from tokverify.settings import Settings
    from tokverify.tokenizer import Tokenizer

_AROUND = 30

Found = tuple[Severity, str]
"""How bad it is, and a sentence."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a check looks at: a rendered conversation, our tokenizer with its settings, and the reference's if any."""

    rendered: Rendered
    markers: TemplateMarkers
    settings: Settings
    actual: Tokenizer
    expected: Tokenizer | None = None

    @property
    def text(self) -> str:
        """What our template writes; empty where it fails."""
        return self.rendered.actual.text or ""


def failing(subject: Subject) -> Iterator[Found]:
    """Find conversations that our template fails on, and the reference's takes; or the other way round."""
    actual, expected, needs = subject.rendered.actual, subject.rendered.expected, subject.rendered.conversation.needs
    if actual.text is None:
        told = f"{'refuses' if actual.deliberate else 'fails on'} the conversation: {shortened(actual.error)}"
        if expected is None:
            yield INFO if needs or actual.deliberate else ERROR, told
        elif expected.text is None:
            yield INFO, f"{told}; the reference's does too"
        else:
            yield ERROR, f"{told}; the reference's renders it"
    elif expected is not None and expected.text is None:
        yield ERROR, f"renders a conversation on which the reference's fails: {shortened(expected.error)}"


def drift(subject: Subject) -> Iterator[Found]:
    """Find texts that differ from the reference's, other than by white space."""
    actual, expected = _both_texts(subject)
    if _inked(actual) != _inked(expected):
        yield ERROR, f"writes {_difference(actual, expected)}"


def white_space(subject: Subject) -> Iterator[Found]:
    """Find texts that differ from the reference's by white space alone."""
    actual, expected = _both_texts(subject)
    if actual != expected and _inked(actual) == _inked(expected):
        yield WARNING, f"writes other white space: {_difference(actual, expected)}"


def ids(subject: Subject) -> Iterator[Found]:
    """Find texts that are equal, and get other ids."""
    rendered = subject.rendered
    expected = rendered.actual if rendered.expected is None else rendered.expected
    if rendered.expected_ids is None or rendered.actual_ids is None or rendered.actual.text != expected.text:
        return
    if rendered.actual_ids != rendered.expected_ids:
        pairs = zip(rendered.actual_ids, rendered.expected_ids, strict=False)
        at = next((f"token {i}" for i, pair in enumerate(pairs) if pair[0] != pair[1]), "the end")
        yield ERROR, f"the text of the chat gets other ids than the reference's, first at {at}"


def double_bos(subject: Subject) -> Iterator[Found]:
    """Find BOS written twice, and BOS written by a template where the tokenizer adds one as well."""
    bos = subject.settings.special_ids.get("bos")
    found = subject.rendered.actual_ids or ()
    if bos is None or found[:1] != (bos,):
        return
    piece = quoted(subject.settings.pieces[bos])
    if found[:2] == (bos, bos):
        yield ERROR, f"begins with BOS twice ({piece})"
    elif subject.settings.add_bos:
        yield INFO, f"begins with BOS ({piece}), which the tokenizer adds too: encode chats without add_special"


def split_marker(subject: Subject) -> Iterator[Found]:
    """Find markers of the template that come out as several tokens."""
    found = {subject.actual.piece(id) for id in set(subject.rendered.actual_ids or ())}
    for marker in subject.markers.strong:
        if marker in subject.text and not _in_messages(subject, marker) and marker not in found:
            alike = subject.expected is not None and _is_plain(subject.expected, marker)
            also = ", as in the reference" if alike else ""
            yield INFO if alike else ERROR, f"the marker {quoted(marker)} is not one token{also}"


def turn_end(subject: Subject) -> Iterator[Found]:
    """Find turns of the assistant whose end does not end a generation."""
    last = subject.rendered.conversation.messages[-1]
    content = last.get("content")
    # An empty content is everywhere in a text, and so marks no end.
    if last["role"] != "assistant" or not isinstance(content, str) or not content or content not in subject.text:
        return
    after = subject.text.rpartition(content)[2]
    ids = subject.actual.encode(after, add_special=False, parse_special=True)
    if not ids:
        yield WARNING, "writes nothing after the assistant's turn, so that nothing tells the model to stop"
    elif subject.settings.eog_ids.isdisjoint(ids):
        shown = quoted(after)
        yield ERROR, f"ends the assistant's turn with {shown}, in which no token ends a generation"


def lost_content(subject: Subject) -> Iterator[Found]:
    """Find messages and tools of which nothing is in the text."""
    rendered = subject.rendered
    if rendered.actual.text is None:
        return
    lost = [what for what, content in _contents(rendered.conversation.messages) if content not in subject.text]
    lost += [
        f"the tool {name}" for tool in rendered.conversation.tools or () if (name := _name(tool)) not in subject.text
    ]
    for what in dict.fromkeys(lost):
        yield INFO if rendered.conversation.needs else WARNING, f"leaves out {what}"


CHECKS: Mapping[str, Callable[[Subject], Iterator[Found]]] = {
    "failing": failing,
    "drift": drift,
    "white-space": white_space,
    "ids": ids,
    "double-bos": double_bos,
    "split-marker": split_marker,
    "turn-end": turn_end,
    "lost-content": lost_content,
}


def _both_texts(subject: Subject) -> tuple[str, str]:
    expected = subject.rendered.expected
    if subject.rendered.actual.text is None or expected is None or expected.text is None:
        return "", ""
    return subject.rendered.actual.text, expected.text


def _inked(text: str) -> str:
    return "".join(text.split())


def _difference(actual: str, expected: str) -> str:
    start = common_length(actual, expected)
    before = actual[max(0, start - _AROUND) : start]
    ours, theirs = (quoted(text[start : start + _AROUND]) if text[start:] else "nothing" for text in (actual, expected))
    return f"{ours} where the reference's writes {theirs}" + (f", after {quoted(before)}" if before else "")


def _in_messages(subject: Subject, marker: str) -> bool:
    return any(marker in content for _, content in _contents(subject.rendered.conversation.messages))


def _is_plain(tokenizer: Tokenizer, marker: str) -> bool:
    ids = tokenizer.encode(marker, add_special=False, parse_special=True)
    return all(tokenizer.piece(id) != marker for id in ids)


def _contents(messages: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - a list of JSON objects
    """Yield what to call each message, and its text without the white space that templates trim."""
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        for part in parts:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield f"the content of the {message['role']} message", part["text"].strip()


def _name(tool: Mapping[str, Any]) -> str:
    function = tool.get("function")
    return str(function.get("name", "") if isinstance(function, dict) else tool.get("name", ""))
