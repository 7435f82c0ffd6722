"""Check rendered conversations: each function looks for one kind of problem.

To add a check, write a function, add it to `CHECKS`, and describe it in `tokverify.report.chat`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from tokverify.chat.text_difference import LineBlock, Stretch, find_differences
from tokverify.compare.look_alike import ROLES, find_between_signs, find_like_odd_tokens, find_meant
from tokverify.compare.marker import TemplateMarkers, looks_like_end
from tokverify.engine.family import Settings
from tokverify.report.chat import Conversation, RenderedConversation, Rendering, message_texts
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.text.sequence import common_length
from tokverify.text.wording import plural, quote, truncate
from tokverify.texts.batch import encode_one
from tokverify.texts.token_text import PLACEHOLDER, STRONG
from tokverify.tokenizer import Token, Tokenizer

_MAX_CONTEXT = 30
_MAX_KEY = 6
"""In characters, as many as the end of a role and its marker has."""
_ESCAPED = re.compile(r"\\[nrt]|\\u[0-9a-f]{4}|&#?\w+;")
"""What may be written beside a word for a character that JSON or HTML escape."""
_YEAR = "2026"
"""That of the day that the worker gives every template."""
_HEADER = re.compile(rf"({STRONG.pattern})([^\S\n]*)((?i:{'|'.join(sorted(ROLES))}))([^\S\n]*)(?=[\n<\[])")
"""A marker and the role after it, with the white space around it."""
_RARER_MARKER = re.compile(rf"[\[〈«‹]\|[\w▁ -]{{2,60}}\|[\]〉»›]|<_[a-z]{{2,20}}>|{PLACEHOLDER.pattern}")
"""Markers such as EXAONE's, Laguna's, TeleChat's and Baichuan's."""
_WORD = re.compile(r"[^\W_]+")
_ANSWERING = frozenset({"ai", "assistant", "bot", "gpt", "model"})
"""The names that templates give to who answers."""
ANSWER = "tokverifyanswer"
"""The assistant's message in `Probes.answered`."""
THOUGHT = "tokverifythought"
"""What the assistant thinks in `Probes.thinking`."""
EXACT_ANSWER = f"\n {ANSWER} <b>\"fish\" & 'chips'</b>\t\n"
"""The assistant's message in `Probes.exact`, which a cache of what it generated contains."""
QUESTION = "tokverifyquestion"
"""The user's message that follows the assistant's."""
_HARMONY_END, _HARMONY_STOPS = "<|end|>", ("<|return|>", "<|call|>")
"""How gpt-oss ends an answer that is part of a history, and those that it generates."""


class Problem(NamedTuple):
    """A problem in one conversation."""

    severity: Severity
    message: str

    key: str = ""
    """Problems with the same key in several conversations become one finding, with the first message."""


def failing(subject: ChatSubject) -> Iterator[Problem]:
    """Find conversations that only one side's template renders."""
    actual, expected, needs = subject.rendered.actual, subject.rendered.expected, subject.conversation.needs
    if actual.text is None:
        message = f"{'refuses' if actual.deliberate else 'fails on'} the conversation: {truncate(actual.error)}"
        if expected is None:
            yield Problem(INFO if needs or actual.deliberate else ERROR, message)
        elif expected.text is None:
            yield Problem(INFO, f"{message}; so does the reference's template")
        else:
            yield Problem(ERROR, f"{message}; the reference's template renders it")
    elif expected is not None and expected.text is None:
        # A template that does what others may lack is no worse than one that crashes there, such as an older version.
        severity = INFO if needs and not expected.deliberate else ERROR
        message = f"renders a conversation on which the reference's template fails: {truncate(expected.error)}"
        yield Problem(severity, message)


def drift(subject: ChatSubject) -> Iterator[Problem]:
    """Find texts that differ from the reference's in more than white space."""
    if _differ_only_in_white_space(subject):
        return
    for before, stretch in find_differences(subject.differences):
        if _remove_white_space(stretch.actual) != _remove_white_space(stretch.expected):
            difference = _describe_difference(stretch)
            yield Problem(ERROR, f"writes {difference}{_describe_position(before)}", difference)
            return


def _white_space(subject: ChatSubject) -> Iterator[Problem]:
    """Find texts that differ from the reference's only in white space."""
    if subject.differences and _differ_only_in_white_space(subject):
        before, stretch = next(find_differences(subject.differences))
        difference = _describe_difference(stretch)
        message = f"writes different white space: {difference}{_describe_position(before)}"
        yield Problem(WARNING, message, difference)


def ids(subject: ChatSubject) -> Iterator[Problem]:
    """Find texts that cannot be encoded, and equal texts with different ids."""
    rendered = subject.rendered
    if rendered.actual_refusal:
        yield Problem(ERROR, f"the text of the chat cannot be encoded: {truncate(rendered.actual_refusal)}")
    elif rendered.expected_refusal:
        yield Problem(ERROR, f"the reference cannot encode the text of the chat: {truncate(rendered.expected_refusal)}")
    elif rendered.difference and not subject.limits:
        first = rendered.difference.first
        position = f"after {plural(first.token_index, 'token')}" if first.token_index else "at the start"
        tokens = f"{_describe_token(first.actual)}, where the reference has {_describe_token(first.expected)}"
        yield Problem(ERROR, f"the same text is encoded to different ids, first {position}: {tokens}", tokens)


def _limit(subject: ChatSubject) -> Iterator[Problem]:
    """Find equal texts that limits of llama.cpp encode to different ids."""
    if subject.limits:
        yield Problem(INFO, f"the same text is encoded to different ids: {subject.limits}", subject.limits)


def double_bos(subject: ChatSubject) -> Iterator[Problem]:
    """Find chats that begin with two BOS tokens, and templates that write BOS although the tokenizer adds it.

    The severities are those of rule TV114.
    """
    bos = subject.settings.special_ids.get("bos")
    found = subject.rendered.actual_ids or ()
    if bos is None or found[:1] != (bos,):
        return
    piece = quote(subject.settings.pieces[bos])
    if found[:2] == (bos, bos):
        yield Problem(WARNING, f"begins with BOS twice ({piece}), because the template itself writes two")
    elif subject.settings.add_bos:
        message = f"begins with BOS ({piece}), which the tokenizer adds too; encode chats without add_special"
        yield Problem(INFO, message)


def _split_marker(subject: ChatSubject) -> Iterator[Problem]:
    """Find markers, in the template's source or assembled by it, that are encoded as several tokens."""
    if subject.rendered.actual_ids is None:
        return
    found = {subject.actual.piece(id) for id in set(subject.rendered.actual_ids)}
    literal = subject.markers.strong
    # Also a marker of a user that the template breaks up is not the template's.
    given = list(_all_strings(subject.conversation))
    changes_markers = any(STRONG.search(text) and text.strip() not in subject.text for text in given)
    for marker in dict.fromkeys([*literal, *_find_markers(subject)]):
        if marker not in subject.text or marker in found or any(marker in text for text in given):
            continue
        if marker not in literal and changes_markers:
            continue
        alike = _is_split_alike(subject, marker)
        # A template that turns every role into a marker does so even for roles unknown to the model, such as `tool`.
        is_unknown_role = marker not in literal and subject.conversation.needs
        also = ", as in the reference" if alike else ""
        message = f"the marker {quote(marker)} is not a single token{also}: {_explain_split(subject, marker)}"
        yield Problem(INFO if alike or is_unknown_role else ERROR, message)


def _find_markers(subject: ChatSubject) -> Iterator[str]:
    """Yield what the template writes and looks like a marker, by its form or by those of the file's own tokens."""
    text, continued = subject.text, subject.probes.continued or subject.probes.followed
    later = (continued and continued.text) or ""
    yield from STRONG.findall(text)
    yield from _RARER_MARKER.findall(text)
    yield from find_like_odd_tokens(text, subject.odd_tokens)
    # Any other text between signs may be an example; only a marker is repeated with each turn.
    between_signs = find_between_signs(text, subject.odd_tokens)
    yield from (marker for marker in between_signs if later.count(marker) > text.count(marker))


def _look_alike(subject: ChatSubject) -> Iterator[Problem]:
    """Find roles that have a space or a capital letter too many after the same marker as others that have none."""
    # A template may break up what a user writes.
    if any(STRONG.search(text) for text in _all_strings(subject.conversation)):
        return
    headers: dict[str, dict[tuple[str, bool, str], str]] = {}
    for marker, before, role, after in _HEADER.findall(subject.text):
        headers.setdefault(marker, {}).setdefault((before, role.islower(), after), before + role + after)
    for marker, ways in headers.items():
        if len(ways) > 1:
            one, other, *_ = map(quote, ways.values())
            message = f"names roles after {quote(marker)} in two ways: {one} and {other}"
            yield Problem(INFO if subject.as_in_reference else ERROR, message, marker)


def _turn_end(subject: ChatSubject) -> Iterator[Problem]:
    """Find turns of the assistant after which no token ends the generation.

    Some templates end a turn only when the next one begins, so the text before the next turn is checked too.
    """
    found = find_after_answer(subject)
    if found is None:
        return
    after, before_next = found
    ends = subject.settings.eog_ids
    is_ended, is_ended_before_next = (not ends.isdisjoint(_encode(subject.actual, text)) for text in found)
    if is_ended and before_next and not is_ended_before_next:
        # gpt-oss ends the turns of a history with another token than the last one.
        if looks_like_end(_first_marker(before_next)):
            return
        following = f"{quote(truncate(before_next))} follows it, in which no token ends the generation"
        message = f"ends the assistant's turn only if it is the last one: in a history, {following}"
        yield Problem(INFO if subject.as_in_reference else WARNING, message)
    elif is_ended or is_ended_before_next:
        return
    elif after:
        message = f"ends the assistant's turn with {quote(after)}, in which no token ends the generation"
        is_harmony = after.strip() == _HARMONY_END and {*_HARMONY_STOPS} <= set(map(subject.actual.piece, ends))
        reason = f"; such a model generates {_HARMONY_STOPS[0]}, and {_HARMONY_END} is written for it in a history"
        yield Problem(INFO, message + reason) if is_harmony else Problem(ERROR, message)
    else:
        message = "writes nothing after the assistant's turn, so the model never learns to stop"
        yield Problem(INFO if subject.as_in_reference else WARNING, message)


def _first_marker(text: str) -> str:
    found = STRONG.match(text.strip())
    return found[0] if found else ""


def _generation_prompt(subject: ChatSubject) -> Iterator[Problem]:
    """Find prompts that begin another turn than the answer, and templates that ignore `add_generation_prompt`."""
    if other := _other_turn(subject):
        message = (
            f"the prompt for an answer begins another turn: it has {quote(other[0])}, and answers {quote(other[1])}"
        )
        yield Problem(INFO if subject.as_in_reference else WARNING, message)
        return
    if (
        subject.probes.unasked is None
        or subject.rendered.actual.text is None
        or subject.probes.unasked.text != subject.text
    ):
        return
    if subject.probes.answered and _answer_comes_next(subject, subject.probes.answered):
        return
    # Where contents are changed, as by escaping, nothing shows where the prompt begins; other conversations do.
    if _text_after(subject.text, _trimmed_texts(subject.conversation.messages)) is None:
        return
    message = "writes the same with and without add_generation_prompt, so nothing tells the model that it is its turn"
    yield Problem(INFO if subject.as_in_reference else WARNING, message)


def _lost_content(subject: ChatSubject) -> Iterator[Problem]:
    """Find messages and tools that are missing from the text, and messages that are changed, as by escaping."""
    conversation = subject.conversation
    if subject.rendered.actual.text is None:
        return
    lost: list[str] = []
    changed: list[str] = []
    for role, content in _trimmed_texts(conversation.messages):
        if content not in subject.text:
            (changed if _contains_words(subject.text, content) else lost).append(f"the content of the {role} message")
    lost += [f"the tool `{name}`" for name in map(_tool_name, conversation.tools or ()) if name not in subject.text]
    for what in dict.fromkeys(lost):
        yield Problem(INFO if conversation.needs or subject.as_in_reference else WARNING, f"drops {what}")
    for what in dict.fromkeys(changed):
        yield Problem(INFO, f"changes {what}, all of whose words are in the text")


def _cache(subject: ChatSubject) -> Iterator[Problem]:
    """Find prompts whose ids are not how the continued conversation begins, so that a server's prompt cache is lost.

    Templates may write the generation prompt differently once it is answered, which costs only these tokens.
    """
    prompt, continued = subject.rendered.actual_ids, subject.probes.continued
    if prompt is None or continued is None or continued.text is None:
        return
    kept = common_length(prompt, _encode(subject.actual, continued.text))
    if kept < len(prompt):
        text, later = subject.text, continued.text
        at = common_length(text, later)
        before, after = (quote(each[at : at + _MAX_CONTEXT]) if each[at:] else "nothing" for each in (text, later))
        cause = f"it then writes {after} where the prompt had {before}"
        if at == len(text):
            cause = "the end of the prompt and the answer are encoded together"
        stays = f"only the first {kept:,} of {plural(len(prompt), 'token')} of the prompt stay the same"
        message = f"when the conversation goes on, {stays}, and a cache of the others is lost: {cause}"
        end = _text_after(text, _trimmed_texts(subject.conversation.messages))
        is_harmless = end is None or at >= len(text) - len(end) or subject.conversation.needs or subject.as_in_reference
        severity = INFO if is_harmless else WARNING
        # What the template writes before a content is the same in every conversation, and what follows is not.
        yield Problem(severity, message, f"{severity} {at == len(text)} {text[:at][-_MAX_KEY:]}")
    is_dated = _YEAR in subject.text and not any(_YEAR in text for text in _all_strings(subject.conversation))
    if "strftime_now" in subject.markers.template and is_dated:
        yield Problem(INFO, "writes today's date, so that its prompts begin differently the next day")
    yield from _changed_answers(subject.probes)


def _changed_answers(probes: Probes) -> Iterator[Problem]:
    """Find parts of answers that a template writes differently once the conversation goes on."""
    thinking, exact = ((probe and probe.text) or "" for probe in (probes.thinking, probes.exact))
    if ANSWER in thinking and THOUGHT not in thinking:
        yield Problem(INFO, "drops what the assistant thought from earlier turns, so their answers are encoded anew")
    if EXACT_ANSWER.strip() in exact and EXACT_ANSWER not in exact:
        yield Problem(INFO, "removes white space around earlier answers, so those that have some are encoded anew")
    elif ANSWER in exact and EXACT_ANSWER not in exact:
        yield Problem(INFO, "writes earlier answers differently, as by escaping, so they are encoded anew")


CHECKS: Mapping[str, Callable[[ChatSubject], Iterator[Problem]]] = {
    "failing": failing,
    "drift": drift,
    "white-space": _white_space,
    "ids": ids,
    "limit": _limit,
    "double-bos": double_bos,
    "split-marker": _split_marker,
    "look-alike": _look_alike,
    "turn-end": _turn_end,
    "generation-prompt": _generation_prompt,
    "lost-content": _lost_content,
    "cache": _cache,
}
"""Kind of finding -> the function that looks for it in one conversation."""


def _other_turn(subject: ChatSubject) -> tuple[str, str] | None:
    """Return the word of a prompt where an answered conversation names who answers; None if the prompt does, too."""
    continued = subject.probes.continued
    if continued is None or continued.text is None:
        return None
    at = common_length(subject.text, continued.text)
    unasked = subject.probes.unasked
    if at < common_length(subject.text, (unasked and unasked.text) or ""):
        return None  # what precedes the prompt for an answer is written differently
    sides = (_WORD.finditer(text) for text in (subject.text, continued.text))
    ours, theirs = (next((word[0] for word in words if word.start() <= at < word.end()), "") for words in sides)
    is_other = theirs.lower() in _ANSWERING or (ours.lower() in _ANSWERING and theirs.lower() in ROLES)
    return (ours, theirs) if ours and is_other else None


def _contains_words(text: str, content: str) -> bool:
    """Check whether a text contains the words of a content in this order, in upper or lower case."""
    unescaped = unquote(_ESCAPED.sub(" ", text.casefold()))
    words, written = _WORD.findall(content.casefold()), iter(_WORD.findall(unescaped))
    # Each search goes on where the last one has ended.
    return bool(words) and all(word in written for word in words)


def _differ_only_in_white_space(subject: ChatSubject) -> bool:
    expected = subject.rendered.expected
    return expected is None or _remove_white_space(subject.text) == _remove_white_space(expected.text or "")


def _remove_white_space(text: str) -> str:
    return "".join(text.split())


def _describe_difference(stretch: Stretch) -> str:
    actual, expected = (quote(text) if text else "nothing" for text in (stretch.actual, stretch.expected))
    return f"{actual} where the reference writes {expected}"


def _describe_position(before: str) -> str:
    return f", after {quote(before[-_MAX_CONTEXT:])}" if before else ""


def _describe_token(token: Token | None) -> str:
    return f"{token.id} {quote(token.piece)}" if token else "nothing"


def _explain_split(subject: ChatSubject, marker: str) -> str:
    pieces = subject.settings.pieces
    if marker in pieces:
        return f"token {pieces.index(marker)} has this text but is not matched"
    meant = find_meant(marker, subject.settings.added_tokens)
    return f"no token has this text{f'; {meant}' if meant else ''}"


def _is_split_alike(subject: ChatSubject, marker: str) -> bool:
    """Whether the reference encodes a marker as several tokens, too: where the template writes it, if it does there.

    Alone, a text that is no added token may be one by the merges of the model.
    """
    if subject.expected is None:
        return False
    written, ids = subject.rendered.expected, subject.rendered.expected_ids
    if written is None or ids is None or marker not in (written.text or ""):
        return _is_plain(subject.expected, marker)
    return all(subject.expected.piece(id) != marker for id in set(ids))


def _is_plain(tokenizer: Tokenizer, marker: str) -> bool:
    return all(tokenizer.piece(id) != marker for id in _encode(tokenizer, marker))


def _encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return encode_one(tokenizer, text, parse_special=True) or []


def _text_after(text: str, contents: Iterator[tuple[str, str]]) -> str | None:
    """Return the text after the last of the contents, which are searched in order; None if the last one is missing."""
    at, last = 0, False
    for _, content in contents:
        found = text.find(content, at)
        last = found >= 0
        at = found + len(content) if last else at
    return text[at:] if last else None


def find_after_answer(subject: ChatSubject) -> tuple[str, str] | None:
    """Return what follows the last answer, and what is between it and another question; None if that is not seen.

    Where contents are changed, as by escaping, these are the parts around words that hardly any template changes.
    """
    messages, probes = subject.conversation.messages, subject.probes
    texts = list(_trimmed_texts(messages))
    if messages[-1]["role"] == "assistant" and messages[-1].get("content") and texts and texts[-1][1]:
        after = _text_after(subject.text, iter(texts))
        followed = _text_after(probes.followed.text or "", iter(texts)) if probes.followed else None
    elif probes.answered and _text_after(subject.text, iter(texts)) is None:
        after, followed = (after_answer((one and one.text) or "") for one in (probes.answered, probes.continued))
    else:
        return None
    before_next, *rest = re.split(QUESTION, followed or "", maxsplit=1, flags=re.IGNORECASE)
    return None if after is None or (followed and not rest) else (after, before_next)


def after_answer(text: str) -> str | None:
    """Return what a template writes after `ANSWER`, also in upper case; None if it does not write it."""
    parts = re.split(ANSWER, text, maxsplit=1, flags=re.IGNORECASE)
    return parts[1] if parts[1:] else None


def _answer_comes_next(subject: ChatSubject, answered: Rendering) -> bool:
    """Check whether there is only white space between the text and an answer."""
    before, found, _ = (answered.text or "").partition(ANSWER)
    ends = (_text_after(text, _trimmed_texts(subject.conversation.messages)) for text in (subject.text, before))
    prompt, before_answer = (None if end is None else end.strip() for end in ends)
    return bool(found) and prompt is not None and prompt == before_answer


def _trimmed_texts(messages: Sequence[Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each message, without the surrounding white space, which templates trim."""
    for role, text in message_texts(messages):
        yield role, text.strip()


def _tool_name(tool: Mapping[str, object]) -> str:
    function = tool.get("function")
    return str(function.get("name", "") if isinstance(function, dict) else tool.get("name", ""))


def _all_strings(conversation: Conversation) -> Iterator[str]:
    """Yield every string that a conversation passes to a template."""
    yield from _find_strings([conversation.messages, conversation.tools, conversation.variables])


def _find_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for item in items:
        yield from _find_strings(item)


@dataclass(frozen=True, slots=True)
class Probes:
    """The results of our template for slightly changed conversations."""

    unasked: Rendering | None = None
    """A conversation with `add_generation_prompt`, without it."""

    answered: Rendering | None = None
    """The same conversation, with an answer from the assistant."""

    continued: Rendering | None = None
    """The same conversation, with an answer and another question, and `add_generation_prompt`."""

    thinking: Rendering | None = None
    """The same, with an answer that the assistant thought about first."""

    exact: Rendering | None = None
    """The same, with an answer that templates may trim or escape."""

    followed: Rendering | None = None
    """A conversation that ends with the assistant's turn, with another message from the user."""


@dataclass(frozen=True, slots=True)
class ChatSubject:
    """A rendered conversation and the tokenizers."""

    conversation: Conversation
    rendered: RenderedConversation
    probes: Probes
    markers: TemplateMarkers
    settings: Settings
    """The settings of `actual`."""

    actual: Tokenizer

    expected: Tokenizer | None = None
    """The reference, if it recognizes control tokens in a text."""

    odd_tokens: tuple[str, ...] = ()
    """The added tokens that look like no usual marker, between brackets and other signs."""

    limits: str = ""
    """The limits of llama.cpp that explain why the same text has different ids; empty if they do not."""

    differences: tuple[LineBlock, ...] = ()
    """The aligned texts of both sides; empty if they are equal or one is missing."""

    @property
    def text(self) -> str:
        """The text that our template writes; empty if it fails."""
        return self.rendered.actual.text or ""

    @property
    def is_refused(self) -> bool:
        """Whether our template itself refuses the conversation, and no reference's template does the same."""
        actual, expected = self.rendered.actual, self.rendered.expected
        return actual.text is None and actual.deliberate and (expected is None or expected.text is not None)

    @property
    def as_in_reference(self) -> bool:
        """Whether the reference's template writes the same."""
        expected = self.rendered.expected
        return expected is not None and expected.text == self.rendered.actual.text
