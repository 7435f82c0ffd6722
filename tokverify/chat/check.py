"""The checks of rendered conversations: each looks at one thing and yields what is wrong with it.

A new check is one function, one line in `CHECKS`, and what it is about in `tokverify.chat.kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tokverify.audit.marker import STRONG
from tokverify.chat.content import contents, strings, tool_name
from tokverify.chat.subject import ANSWER, QUESTION
from tokverify.chat.text_difference import Stretch, compare_texts, differing
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.text.wording import plural, quoted, shortened

if TYPE_CHECKING:
    from tokverify.chat.rendering import Rendering
    from tokverify.chat.subject import Subject
    from tokverify.tokenizer import Token, Tokenizer

_AROUND = 30


class Found(NamedTuple):
    """How bad it is, and a sentence; what has the same `key` in several conversations is told once, as in the first."""

    severity: Severity
    message: str
    key: str = ""


def failing(subject: Subject) -> Iterator[Found]:
    """Find conversations that our template fails on, and the reference's takes; or the other way round."""
    actual, expected, needs = subject.rendered.actual, subject.rendered.expected, subject.rendered.conversation.needs
    if actual.text is None:
        told = f"{'refuses' if actual.deliberate else 'fails on'} the conversation: {shortened(actual.error)}"
        if expected is None:
            yield Found(INFO if needs or actual.deliberate else ERROR, told)
        elif expected.text is None:
            yield Found(INFO, f"{told}; the reference's does too")
        else:
            yield Found(ERROR, f"{told}; the reference's renders it")
    elif expected is not None and expected.text is None:
        yield Found(ERROR, f"renders a conversation on which the reference's fails: {shortened(expected.error)}")


def drift(subject: Subject) -> Iterator[Found]:
    """Find texts that differ from the reference's, other than by white space."""
    actual, expected = _both_texts(subject)
    if _inked(actual) != _inked(expected):
        before, first = next(
            (before, found)
            for before, found in differing(compare_texts(actual, expected))
            if _inked(found.actual) != _inked(found.expected)
        )
        told = _told(first)
        yield Found(ERROR, f"writes {told}{_after_what(before)}", told)


def white_space(subject: Subject) -> Iterator[Found]:
    """Find texts that differ from the reference's by white space alone."""
    actual, expected = _both_texts(subject)
    if actual != expected and _inked(actual) == _inked(expected):
        before, first = next(differing(compare_texts(actual, expected)))
        told = _told(first)
        yield Found(WARNING, f"writes other white space: {told}{_after_what(before)}", told)


def ids(subject: Subject) -> Iterator[Found]:
    """Find texts that cannot be encoded, and those that are equal and get other ids."""
    rendered = subject.rendered
    if rendered.actual_refusal:
        yield Found(ERROR, f"the text of the chat cannot be encoded: {shortened(rendered.actual_refusal)}")
    elif rendered.expected_refusal:
        yield Found(ERROR, f"the reference cannot encode the text of the chat: {shortened(rendered.expected_refusal)}")
    elif rendered.difference:
        first = rendered.difference.first
        where = f"after {plural(first.token_index, 'token')}" if first.token_index else "at the start"
        told = f"{_token(first.actual)}, where the reference has {_token(first.expected)}"
        yield Found(ERROR, f"the same text gets other ids than the reference's, first {where}: {told}", told)


def double_bos(subject: Subject) -> Iterator[Found]:
    """Find BOS written twice, and BOS written by a template where the tokenizer adds one as well."""
    bos = subject.settings.special_ids.get("bos")
    found = subject.rendered.actual_ids or ()
    if bos is None or found[:1] != (bos,):
        return
    piece = quoted(subject.settings.pieces[bos])
    if found[:2] == (bos, bos):
        yield Found(ERROR, f"begins with BOS twice ({piece})")
    elif subject.settings.add_bos:
        told = f"begins with BOS ({piece}), which the tokenizer adds too: encode chats without add_special"
        yield Found(INFO, told)


def split_marker(subject: Subject) -> Iterator[Found]:
    """Find markers, of the template's source or put together by it, that come out as several tokens."""
    if subject.rendered.actual_ids is None:
        return
    found = {subject.actual.piece(id) for id in set(subject.rendered.actual_ids)}
    literal = subject.markers.strong
    given = list(strings(subject.rendered.conversation))
    for marker in dict.fromkeys([*literal, *STRONG.findall(subject.text)]):
        if marker not in subject.text or marker in found or any(marker in text for text in given):
            continue
        alike = subject.expected is not None and _is_plain(subject.expected, marker)
        # A template that makes a marker of any role does so of one, such as `tool`, that its model does not know.
        is_unknown_role = marker not in literal and subject.rendered.conversation.needs
        also = ", as in the reference" if alike else ""
        told = f"the marker {quoted(marker)} is not one token{also}: {_spelled(subject, marker)}"
        yield Found(INFO if alike or is_unknown_role else ERROR, told)


def turn_end(subject: Subject) -> Iterator[Found]:
    """Find turns of the assistant whose end does not end a generation.

    Some templates end a turn only when the next one begins, so that is looked at, too.
    """
    messages = subject.rendered.conversation.messages
    content = messages[-1].get("content")
    if messages[-1]["role"] != "assistant" or not isinstance(content, str) or not content.strip():
        return
    after = _after(subject.text, contents(messages))
    if after is None:
        return
    followed = _after(subject.probes.followed.text or "", contents(messages)) if subject.probes.followed else None
    before_next = (followed or "").partition(QUESTION)[0]
    if any(not subject.settings.eog_ids.isdisjoint(_encoded(subject.actual, text)) for text in (after, before_next)):
        return
    if after:
        yield Found(ERROR, f"ends the assistant's turn with {quoted(after)}, in which no token ends a generation")
    else:
        told = (
            "writes nothing after the assistant's turn that ends a generation, so that nothing tells the model to stop"
        )
        yield Found(INFO if subject.as_in_reference else WARNING, told)


def generation_prompt(subject: Subject) -> Iterator[Found]:
    """Find templates that write the same with the prompt for an answer as without it, and do not expect it next."""
    if (
        subject.probes.unasked is None
        or subject.rendered.actual.text is None
        or subject.probes.unasked.text != subject.text
    ):
        return
    if subject.probes.answered and _answer_comes_next(subject, subject.probes.answered):
        return
    told = "writes the same with add_generation_prompt as without: the model is not told that it is its turn"
    yield Found(INFO if subject.as_in_reference else WARNING, told)


def lost_content(subject: Subject) -> Iterator[Found]:
    """Find messages and tools of which nothing is in the text."""
    conversation = subject.rendered.conversation
    if subject.rendered.actual.text is None:
        return
    lost = [
        f"the content of the {role} message"
        for role, content in contents(conversation.messages)
        if content not in subject.text
    ]
    lost += [f"the tool {name}" for name in map(tool_name, conversation.tools or ()) if name not in subject.text]
    for what in dict.fromkeys(lost):
        yield Found(INFO if conversation.needs or subject.as_in_reference else WARNING, f"leaves out {what}")


CHECKS: Mapping[str, Callable[[Subject], Iterator[Found]]] = {
    "failing": failing,
    "drift": drift,
    "white-space": white_space,
    "ids": ids,
    "double-bos": double_bos,
    "split-marker": split_marker,
    "turn-end": turn_end,
    "generation-prompt": generation_prompt,
    "lost-content": lost_content,
}
"""Kind -> what looks for it in one conversation."""


def _both_texts(subject: Subject) -> tuple[str, str]:
    expected = subject.rendered.expected
    if subject.rendered.actual.text is None or expected is None or expected.text is None:
        return "", ""
    return subject.rendered.actual.text, expected.text


def _inked(text: str) -> str:
    return "".join(text.split())


def _told(first: Stretch) -> str:
    sides = (quoted(text) if text else "nothing" for text in (first.actual, first.expected))
    return "{} where the reference's writes {}".format(*sides)


def _after_what(before: str) -> str:
    return f", after {quoted(before[-_AROUND:])}" if before else ""


def _token(token: Token | None) -> str:
    return f"{token.id} {quoted(token.piece)}" if token else "nothing"


def _spelled(subject: Subject, marker: str) -> str:
    pieces = subject.settings.pieces
    return (
        f"token {pieces.index(marker)} is spelled so, but not matched" if marker in pieces else "no token is spelled so"
    )


def _is_plain(tokenizer: Tokenizer, marker: str) -> bool:
    return all(tokenizer.piece(id) != marker for id in _encoded(tokenizer, marker))


def _encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    try:
        return tokenizer.encode(text, add_special=False, parse_special=True)
    except (EncodeError, UnsupportedError):
        return []


def _after(text: str, told: Iterator[tuple[str, str]]) -> str | None:
    """Return what stands after the last of some contents, found one after the other; None if that is not there."""
    at, last = 0, False
    for _, content in told:
        found = text.find(content, at)
        last = found >= 0
        at = found + len(content) if last else at
    return text[at:] if last else None


def _answer_comes_next(subject: Subject, answered: Rendering) -> bool:
    """Tell whether nothing but white space would come between the text and an answer."""
    before, found, _ = (answered.text or "").partition(ANSWER)
    ends = (_after(text, contents(subject.rendered.conversation.messages)) for text in (subject.text, before))
    prompt, before_answer = (None if end is None else end.strip() for end in ends)
    return bool(found) and prompt is not None and prompt == before_answer
