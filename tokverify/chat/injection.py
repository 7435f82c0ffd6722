"""Look for contents of messages that become control tokens once a template is rendered and encoded as a whole.

llama-server and most other programs encode the rendered prompt with `parse_special`, so that a marker that a user
writes is a control token. Two defenses are usual: to encode contents separately with `parse_special` off, and to refuse
contents with markers. What is found is rendered and encoded before it is reported, and says which defense closes it.
"""

from __future__ import annotations

import html
import json
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from tokverify.compare.marker import TemplateMarkers
from tokverify.engine.encoder import Encoder
from tokverify.engine.family import Ranking
from tokverify.report.chat import Conversation, Rendering, message_texts
from tokverify.report.finding import INFO, WARNING, Severity
from tokverify.spec import AddedToken, TokenType
from tokverify.text.sequence import group_values
from tokverify.text.utf8 import has_lone_byte
from tokverify.text.wording import plural, quote, truncate
from tokverify.texts.batch import encode_one
from tokverify.tokenizer import MatchListing, Tokenizer

_PARTS, _TOOL, _NAME, _DOCUMENTS = "parts", "tool", "name", "documents"
_TOOL_PART, _TOOL_FIELD = "part of a result", "field of a result"
_DESCRIPTION, _ARGUMENT, _THOUGHT = "description", "argument", "thought"
SHAPES: Mapping[str, Sequence[str]] = {
    "user": ("user",),
    "turns": ("user", "assistant", "user"),
    "system": ("system", "user"),
    "users": ("user", "user"),
    _PARTS: ("user", "user"),
    _TOOL: ("user", "tool"),
    _TOOL_PART: ("user", "tool"),
    _TOOL_FIELD: ("user", "tool"),
    _NAME: ("user", "user"),
    _DOCUMENTS: ("user", "user"),
    _DESCRIPTION: ("user", "tool"),
    _ARGUMENT: ("user", "assistant"),
    _THOUGHT: ("user", "assistant"),
}
"""Name of a conversation -> the roles of its contents.

Those of `parts` are in one message; the second one is a part or a field of a tool's result, the name of the user, a
document, the description of a tool, an argument of its call, or what the assistant thinks, in these.
"""
_ELSEWHERE: Mapping[str, tuple[int, str]] = {
    "turns": (0, "an earlier message"),
    _NAME: (1, "a name"),
    _TOOL: (1, "the result of a tool"),
    _TOOL_PART: (1, "a part of the result of a tool"),
    _TOOL_FIELD: (1, "a field of the result of a tool"),
    _DOCUMENTS: (1, "a document"),
    "system": (0, "a system message"),
    _DESCRIPTION: (1, "the description of a tool"),
    _ARGUMENT: (1, "the arguments of a call"),
    _THOUGHT: (1, "what the assistant thinks"),
}
"""Name of a conversation -> which of its contents a marker is in that the last message of a user cannot contain."""
_BY_USER = frozenset({"turns", _NAME})
_STRUCTURED = frozenset({_TOOL_PART, _TOOL_FIELD})
"""Of these, only what a template makes of them is looked for; as they are, they are results like any other."""
_WORDS = ("tokverifyfirst", "tokverifysecond", "tokverifythird")
"""Contents that no template changes."""
_BEFORE, _AFTER = "tokverifybefore", "tokverifyafter"
"""What surrounds a text that a template may change."""
_TAG_START, _TAG_END = re.compile(r"\{[{%]"), re.compile(r"[%}]\}")
_LITERAL = re.compile(r"""(['"])((?:\\.|(?!\1|\\).){0,300})\1""", re.DOTALL)
"""A longer one would take quadratic time in a hostile template."""
_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t"}
_ESCAPE = re.compile(r"\\(?:u((?!d[89a-f])[0-9a-f]{4})|x([0-9a-f]{2})|.)", re.DOTALL | re.IGNORECASE)
_REPLACED = (*string.punctuation, *string.whitespace, "\xe9", "\xa0", "\u200b", "<b>", "&lt;", "&gt;", "&amp;")
"""What a template may remove or replace, besides the texts in its source."""
_FILLERS = ("a ", "a\n", "a " * 64, "a\n" * 64, "a\n" * 512)
"""What may stand before or after a marker where a template looks only at a part of a content."""
_MAX_MARKERS = 4
"""How many markers are disguised; a template treats all alike."""
_MAX_UNDONE = 1000
"""In characters; a hostile template can multiply them with each replacement."""
_MAX_LITERAL_MARKERS = 64
"""How many markers are tried alone, or split; all are tried in one content, of which a template may cut off a part."""
_MAX_SOURCE = 1 << 16
_MAX_LITERALS = 200
_MAX_REPLACED = 16
_LONGEST_COMMAND = 2
"""In characters, of what may begin a command in a content, such as `/`."""
_MAX_NESTED = 3
"""How many times a template may remove the same text."""
_TO_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_CALL = {"id": "call00001", "type": "function"}
_PARAMETERS = {"type": "object", "properties": {}}
_BEYOND = "refusing contents with markers does not close this"
_CLOSED = "encode contents separately with parse_special off"


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Contents that may become a control token."""

    shape: str
    contents: tuple[str, ...]
    id: int
    written: tuple[str, ...]
    """Those of the contents that are not among `_WORDS`."""


@dataclass(frozen=True)
class InjectionSearch:
    """A template and the tokenizers."""

    encoder: Encoder
    template: TemplateMarkers
    render: Callable[[Sequence[Conversation]], Sequence[Rendering]]
    expected: Tokenizer | None = field(default=None)
    """The reference, if it recognizes control tokens in a text."""

    def search(self) -> Iterator[tuple[Severity, str]]:
        """Yield each way in which a content becomes a control token, with the shortest content that shows it."""
        if "user" not in self._texts:
            return
        markers = self._turn_markers | self._markers
        literal = [_Attempt("user", (text,), id, (text,)) for id, text in markers.items()][:_MAX_LITERAL_MARKERS]
        every = _Attempt("user", ("\n".join(self._markers.values()),), -1, ())
        made, completed = list(self._disguise("user", 0)), list(self._complete("user", 0))
        split = [*self._split()]
        longer, elsewhere = list(self._lengthen()), list(self._write_elsewhere())
        made_elsewhere = {shape: list(self._make_elsewhere(shape)) for shape in _ELSEWHERE if shape in self._texts}
        attempts = [every, *literal, *longer, *elsewhere, *made, *completed, *split]
        attempts += chain.from_iterable(made_elsewhere.values())
        texts = dict(zip(attempts, self._render(attempts), strict=True))
        written = self._count(texts[every])
        is_open = {one.id: self._markers[one.id] for one in literal if self._is_proven(one, texts)}
        where = "" if is_open else "in a longer content, "
        if not is_open and (proven := [one for one in longer if self._is_proven(one, texts)]):
            where = f"in a longer content such as {quote(truncate(proven[0].contents[0]))}, "
            is_open = {one.id: self._markers[one.id] for one in proven}
        is_open |= {id: text for id, text in markers.items() if written[id] > self._baselines["user"][id]}
        yield from self._describe_literal(is_open, where)
        proven = [one for one in elsewhere if one.id not in is_open and self._is_proven(one, texts)]
        yield from self._describe_elsewhere(proven)
        made = [one for one in made if one.id not in is_open or self._markers[one.id] not in one.contents[0]]
        proven = [attempt for attempt in made if self._is_proven(attempt, texts)]
        if proven:
            are_all = len({one.id for one in made}) == len(markers)
            description = self._describe(proven, are_all=are_all)
            yield WARNING, f"the template makes control tokens: {description}; {_CLOSED}"
        known = {one.written for one in chain(proven, completed) if self._is_proven(one, texts)}
        plain = {(one.shape, one.id) for one in elsewhere if self._is_proven(one, texts)}
        for shape, attempts in made_elsewhere.items():
            new = [one for one in attempts if one.written not in known and not self._has_plain(one, plain)]
            new = [one for one in new if self._is_proven(one, texts)]
            yield from self._describe_made_elsewhere(_ELSEWHERE[shape][1], new)
            known.update(one.written for one in new)
        folded = [one for one in made if one not in proven and self._is_folded(one, texts)]
        if folded:
            codes = " ".join(f"U+{ord(each):04X}" for each in folded[0].contents[0])
            yield INFO, f"the reference folds look-alikes, unlike this file: {self._describe(folded)} ({codes})"
        proven = [attempt for attempt in completed if self._is_proven(attempt, texts)]
        if proven:
            yield WARNING, f"the template completes control tokens: {self._describe(proven)}; {_BEYOND}, {_CLOSED}"
        for is_parts, where in ((False, "messages"), (True, "the parts of a message")):
            proven = [one for one in split if (one.shape == _PARTS) == is_parts and self._is_proven(one, texts)]
            if proven:
                are_all = len(markers) <= _MAX_LITERAL_MARKERS
                description = self._describe(proven, are_all=are_all)
                message = f"control tokens can be split over {where}: {description}; {_CLOSED}"
                yield INFO if is_parts else WARNING, message

    def _describe_elsewhere(self, proven: Sequence[_Attempt]) -> Iterator[tuple[Severity, str]]:
        for shape, (_, what) in _ELSEWHERE.items():
            if here := [one for one in proven if one.shape == shape]:
                by_user = f"a user can write control tokens in {what}"
                can = by_user if shape in _BY_USER else f"{what} can contain control tokens"
                yield INFO, f"{can}: {self._describe(here)}; {_CLOSED}"

    def _has_plain(self, attempt: _Attempt, plain: Set[tuple[str, int]]) -> bool:
        """Check whether a content contains a marker that needs no disguise, or of which that is not known."""
        is_open = attempt.shape in _STRUCTURED or (attempt.shape, attempt.id) in plain
        return is_open and self._markers[attempt.id] in attempt.written[0]

    def _describe_made_elsewhere(self, what: str, proven: Sequence[_Attempt]) -> Iterator[tuple[Severity, str]]:
        completed = [one for one in proven if one.written[0] in self._markers[one.id]]
        if made := [one for one in proven if one not in completed]:
            description = self._describe(made, are_all=False)
            yield WARNING, f"the template makes control tokens of {what}: {description}; {_CLOSED}"
        if completed:
            completed.sort(key=lambda one: len(one.written[0]))
            description = f"{self._describe(completed)}; {_BEYOND}, {_CLOSED}"
            yield WARNING, f"the template completes control tokens of {what}: {description}"

    @property
    def renders_user(self) -> bool:
        """Whether the template renders a user's message alone."""
        return "user" in self._texts

    @property
    def gap(self) -> str:
        """What is not searched for because of how the template treats contents; empty if everything is."""
        if not self.renders_user:
            return "contents that become control tokens: the template does not render a user's message alone"
        if "user" not in self._before_and_after:
            written = "the template does not write what a user writes exactly once and unchanged"
            return f"contents that complete or split control tokens, because {written}"
        return ""

    def search_content(self, conversation: Conversation, ids: Sequence[int]) -> Iterator[tuple[Severity, str]]:
        """Yield what the contents of a conversation become, whose prompt has these ids."""
        plain = [message | {"content": _WORDS[0]} for message in map(dict, conversation.messages)]
        [harmless] = self.render([Conversation(id="", messages=plain, add_generation_prompt=True)])
        more = Counter(ids) - self._count(harmless.text)
        found = [id for id in dict.fromkeys(ids) if id in self._markers and more[id]]
        if not found:
            return
        content = "\n".join(text for _, text in message_texts(conversation.messages))
        found.sort(key=lambda id: content.find(self._markers[id]))
        shown = ", ".join(self._locate(id, content) for id in found)
        end = f"{_CLOSED}, which makes them text"
        if not set(found).isdisjoint(_encode(self.encoder, content, parse_special=False)):
            end = "some also with parse_special off, so refuse the content"
        yield WARNING, f"the content becomes {plural(len(found), 'control token')}: {shown}; {end}"

    def _locate(self, id: int, content: str) -> str:
        before, is_written, _ = content.partition(self._markers[id])
        where = f"line {before.count(chr(10)) + 1}" if is_written else "with the template"
        return f"{id} {quote(self._markers[id])} ({where})"

    @cached_property
    def _markers(self) -> dict[int, str]:
        """The control tokens, and the other tokens that are markers in the template."""
        named = {*self.template.strong, *self.template.weak}
        types, ids = self.encoder.token_types(), self.encoder.settings.ids
        added = {token.id: token.text for token in self.encoder.settings.added_tokens}
        found = {id: text for id, text in added.items() if types[id] is TokenType.CONTROL or text in named}
        found |= {ids[text]: text for text in self.template.strong if text in ids}
        return {
            id: text for id, text in found.items() if types[id] is not TokenType.UNKNOWN and not has_lone_byte(text)
        }

    @cached_property
    def _texts(self) -> dict[str, str]:
        """Name of a conversation -> what the template writes for contents that it does not change."""
        conversations = [converse(shape, _WORDS[: len(roles)]) for shape, roles in SHAPES.items()]
        renderings = zip(SHAPES, self.render(conversations), strict=True)
        return {shape: rendering.text for shape, rendering in renderings if rendering.text is not None}

    @cached_property
    def _before_and_after(self) -> dict[str, list[str]]:
        """Name of a conversation -> what the template writes before, between and after the contents."""
        found = {}
        for shape, text in self._texts.items():
            words = _WORDS[: len(SHAPES[shape])]
            stretches = re.split("|".join(words), text)
            if re.findall("|".join(words), text) == list(words):
                found[shape] = stretches
        return found

    @cached_property
    def _turn_markers(self) -> dict[int, str]:
        """The markers that end a turn and begin the next one, with which a user can forge turns."""
        if "user" not in self._before_and_after:
            return {id: text for id, text in self._markers.items() if text in self.template.strong}
        _, answer, question, _ = self._before_and_after.get("turns", [""] * 4)
        found = self._marker_ids(question)
        found += [id for id in self._marker_ids(answer) if self._markers[id] in self.template.strong]
        found = found or self._marker_ids(self._before_and_after["user"][-1])
        return {id: self._markers[id] for id in found}

    def _marker_ids(self, text: str) -> list[int]:
        found = dict.fromkeys(_encode(self.encoder, text, parse_special=True))
        return [id for id in found if id in self._markers]

    def _lengthen(self) -> Iterator[_Attempt]:
        """Yield contents in which other text surrounds a marker, the shortest first."""
        for filler in _FILLERS:
            end = filler[::-1]
            for id, text in list(self._turn_markers.items())[:_MAX_MARKERS]:
                for content in (filler + text, text + end, filler + text + end):
                    yield _Attempt("user", (content,), id, (content,))

    def _write_elsewhere(self) -> Iterator[_Attempt]:
        """Yield markers in what is not the last message of a user."""
        for shape, (at, _) in _ELSEWHERE.items():
            is_tried = shape in self._texts and shape not in _STRUCTURED
            for id, text in self._turn_markers.items() if is_tried else ():
                yield _Attempt(shape, _put(shape, at, text), id, (text,))

    def _make_elsewhere(self, shape: str) -> Iterator[_Attempt]:
        """Yield contents of which a template may make or complete a marker, in what is not a user's last message.

        Most templates write such a content as it is, or as JSON, which one rendering of everything that a template may
        replace shows.
        """
        at, _ = _ELSEWHERE[shape]
        content = " ".join([_BEFORE, "A", "Ａ", *self._list_replaceable(), _AFTER])
        [rendering] = self.render([converse(shape, _put(shape, at, content))])
        text = rendering.text or ""
        is_changed = content not in text and json.dumps(content, ensure_ascii=False) not in text
        yield from self._disguise(shape, at, is_changed=is_changed)
        yield from self._complete(shape, at)

    def _list_replaceable(self) -> list[str]:
        markers = list(self._turn_markers.values())[:_MAX_MARKERS]
        return list(dict.fromkeys([*_find_literals(self.template.template), *markers, *_REPLACED]))

    def _find_replaced(self, shape: str, at: int) -> list[tuple[str, str]]:
        """Return what the template removes from a content or replaces, and by what, in the order of its source."""
        texts = self._list_replaceable()
        conversations = [converse(shape, _put(shape, at, _BEFORE + text + _AFTER)) for text in texts]
        between = re.compile(f"{_BEFORE}(.*?){_AFTER}", re.DOTALL | re.IGNORECASE)
        found = [between.search(rendering.text or "") for rendering in self.render(conversations)]
        replaced = {text: match[1] for text, match in zip(texts, found, strict=True) if match and match[1] != text}
        # What contains another such text changes because of that.
        shortest = [text for text in replaced if not any(other in text for other in replaced if other != text)]
        return [(text, replaced[text]) for text in shortest[:_MAX_REPLACED]]

    def _disguise(self, shape: str, at: int, *, is_changed: bool = True) -> Iterator[_Attempt]:
        """Yield contents of which a template may make a marker: by removing, replacing or folding a part.

        Args:
            shape: Name of a conversation.
            at: Which of its contents it is.
            is_changed: Whether the template changes this content; otherwise, only what begins it may matter.
        """
        replaced = self._find_replaced(shape, at) if is_changed else []
        removed = [before for before, after in replaced if not after]
        commands = [each for each in _find_literals(self.template.template) if each.strip() and not each.isalnum()]
        commands = [each for each in commands if len(each) <= _LONGEST_COMMAND][:_MAX_REPLACED]
        for id, text in list(self._turn_markers.items())[:_MAX_MARKERS]:
            contents = [each + text.strip(string.punctuation) for each in commands]
            if is_changed:
                contents += [text[:cut] + each + text[cut:] for each in removed for cut in (1, len(text) // 2)]
                # A template that refuses a part of a marker does not find it.
                contents += [each.join(text) for each in removed]
                contents += _undo(text, replaced)
                contents += [text.replace(after, before) for before, after in replaced if after]
                contents += [html.escape(text), text.upper(), text.lower(), text.swapcase()]
                contents += [text.translate(_TO_FULL_WIDTH), text.replace("▁", " "), text.replace("_", "▁")]
            for content in sorted(dict.fromkeys(contents), key=len):
                if content != text:
                    yield _Attempt(shape, _put(shape, at, content), id, (content,))

    def _complete(self, shape: str, at: int) -> Iterator[_Attempt]:
        """Yield the contents that are the rest of a marker whose other part the template writes around them."""
        before, after = self._before_and_after.get(shape, [""] * (at + 2))[at : at + 2]
        for id, text in (self._turn_markers | self._markers).items():
            start = next((end for end in range(len(text) - 1, 0, -1) if before.endswith(text[:end])), 0)
            end = next((cut for cut in range(start + 1, len(text)) if after.startswith(text[cut:])), len(text))
            if (content := text[start:end]) != text:
                yield _Attempt(shape, _put(shape, at, content), id, (content,))

    def _split(self) -> Iterator[_Attempt]:
        """Yield contents of which one begins a marker and the next one ends it."""
        for shape in ("turns", "system", "users", _PARTS):
            stretches = self._before_and_after.get(shape, ())
            for at, between in enumerate(stretches[1:-1]):
                markers = list((self._turn_markers | self._markers).items())
                for id, text in markers[:_MAX_LITERAL_MARKERS]:
                    cut = text.find(between, 1)
                    if cut > 0 and cut + len(between) < len(text):
                        contents = [*_WORDS[: len(stretches) - 1]]
                        contents[at : at + 2] = written = (text[:cut], text[cut + len(between) :])
                        yield _Attempt(shape, tuple(contents), id, written)

    def _render(self, attempts: Sequence[_Attempt]) -> list[str | None]:
        return [one.text for one in self.render([converse(each.shape, each.contents) for each in attempts])]

    def _is_proven(self, attempt: _Attempt, texts: Mapping[_Attempt, str | None]) -> bool:
        return self._count(texts[attempt])[attempt.id] > self._baselines[attempt.shape][attempt.id]

    def _is_folded(self, attempt: _Attempt, texts: Mapping[_Attempt, str | None]) -> bool:
        """Check whether only the reference makes the marker."""
        if self.expected is None:
            return False
        found, plain = (
            [self.expected.piece(id) for id in _encode(self.expected, text or "", parse_special=True)].count(
                self._markers[attempt.id]
            )
            for text in (texts[attempt], self._texts[attempt.shape])
        )
        return found > plain

    @cached_property
    def _baselines(self) -> dict[str, Counter[int]]:
        """Name of a conversation -> how often each id occurs in it, with contents that are no markers."""
        return {shape: self._count(text) for shape, text in self._texts.items()}

    def _count(self, text: str | None) -> Counter[int]:
        return Counter(_encode(self.encoder, text or "", parse_special=True))

    def _describe(self, proven: Sequence[_Attempt], *, are_all: bool = True) -> str:
        first = proven[0]
        become = "becomes" if len(first.written) == 1 else "become"
        found = f"{' and '.join(map(quote, first.written))} {become} {first.id} {quote(self._markers[first.id])}"
        return found + _describe_others(len({attempt.id for attempt in proven}) - 1, are_all=are_all)

    def _describe_literal(self, is_open: Mapping[int, str], where: str) -> Iterator[tuple[Severity, str]]:
        """Describe the markers that are control tokens if a user writes them, and those that no encoding makes text."""
        if not is_open:
            return
        id, text = next(iter(is_open.items()))
        found = f"{where}{quote(text)} becomes {id} {quote(text)}{_describe_others(len(is_open) - 1)}"
        when = "where the whole prompt is encoded with parse_special, as llama-server does"
        yield INFO, f"a user can write control tokens: {found} {when}; {_CLOSED}, or refuse contents with markers"
        always = (id for id, text in is_open.items() if id in _encode(self.encoder, text, parse_special=False))
        for (severity, why), ids in group_values((self._why_always(id, is_open[id]), id) for id in always).items():
            found = f"{quote(self._markers[ids[0]])} becomes {ids[0]}{_describe_others(len(ids) - 1)}"
            yield severity, f"{found} also with parse_special off: {why}; refuse contents with this text"

    def _why_always(self, id: int, text: str) -> tuple[Severity, str]:
        """Return why a marker is a token also with `parse_special` off; a warning if a better file is possible."""
        if self.encoder.settings.family.ranking is Ranking.LENGTH:
            return INFO, "llama.cpp's RWKV model finds every token in plain text, too (TL015)"
        if self.encoder.token_types()[id] is not TokenType.USER_DEFINED:
            return WARNING if id in self._turn_markers else INFO, "its type is not CONTROL, and its pieces are merged"
        if self.encoder.spec.types and self.encoder.spec.types[id] == TokenType.CONTROL:
            return INFO, "llama.cpp itself makes its type USER_DEFINED"
        theirs: Mapping[int, AddedToken] = (
            self.expected.added_tokens() if isinstance(self.expected, MatchListing) else {}
        )
        is_same = any(token.text == text and not token.special for token in theirs.values())
        why = "its type is USER_DEFINED"
        return (WARNING, why) if id in self._turn_markers and not is_same else (INFO, why)


def _put(shape: str, at: int, content: str) -> tuple[str, ...]:
    """Return the contents of a conversation that are words, except for one."""
    words = _WORDS[: len(SHAPES[shape])]
    return (*words[:at], content, *words[at + 1 :])


def _undo(text: str, replaced: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield contents of which replacements, one after the other, probably make a text, if they are made repeatedly."""
    for _ in range(_MAX_NESTED):
        for before, after in reversed(replaced):
            if len(text) > _MAX_UNDONE:
                return
            # What is removed is put into the middle of itself, and only the inner one is removed.
            wrapped = before[:1] + before + before[1:]
            text = text.replace(after, before) if after else text.replace(before, wrapped)
        yield text


def _find_literals(template: str) -> list[str]:
    """Return the string literals in the code of a template."""
    tags = [_TAG_END.split(part, maxsplit=1)[0] for part in _TAG_START.split(template[:_MAX_SOURCE])[1:]]
    literals = dict.fromkeys(_unescape(text) for tag in tags for _, text in _LITERAL.findall(tag) if text)
    return list(literals)[:_MAX_LITERALS]


def _unescape(literal: str) -> str:
    """Return the text that a string literal in a template stands for."""

    def read(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        return chr(int(code, 16)) if code else _ESCAPES.get(found[0], found[0][1:])

    return _ESCAPE.sub(read, literal)


def converse(shape: str, contents: Sequence[str]) -> Conversation:
    """Return a conversation of this shape."""
    messages: list[dict[str, object]] = [
        {"role": role, "content": text} for role, text in zip(SHAPES[shape], contents, strict=True)
    ]
    variables: dict[str, object] = {}
    tools = None
    if shape == _PARTS:
        messages = [{"role": "user", "content": [{"type": "text", "text": text} for text in contents]}]
    elif shape in {_TOOL, _TOOL_PART, _TOOL_FIELD}:
        if shape == _TOOL_PART:
            messages[1]["content"] = [{"type": "text", "text": contents[1]}]
        elif shape == _TOOL_FIELD:
            messages[1]["content"] = {"what": contents[1]}
        messages[1] |= {"name": "find", "tool_call_id": _CALL["id"]}
        messages.insert(1, _call("a"))
    elif shape == _NAME:
        messages = [messages[0] | {"name": contents[1]}]
    elif shape == _DOCUMENTS:
        messages = messages[:1]
        variables = {"documents": [{"title": "a", "text": contents[1], "content": contents[1]}]}
    elif shape == _DESCRIPTION:
        messages = messages[:1]
        tools = [
            {"type": "function", "function": {"name": "find", "description": contents[1], "parameters": _PARAMETERS}}
        ]
    elif shape == _ARGUMENT:
        messages[1] = _call(contents[1])
    elif shape == _THOUGHT:
        messages[1] = {"role": "assistant", "content": "a", "reasoning_content": contents[1]}
    return Conversation(id=shape, messages=messages, tools=tools, variables=variables, add_generation_prompt=True)


def _call(argument: str) -> dict[str, object]:
    """Return the message with which an assistant calls a tool."""
    call = {**_CALL, "function": {"name": "find", "arguments": {"what": argument}}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _describe_others(count: int, *, are_all: bool = True) -> str:
    least = "" if are_all else "at least "
    return f" (so {'does' if count == 1 else 'do'} {least}{plural(count, 'other')})" if count else ""


def _encode(tokenizer: Tokenizer, text: str, *, parse_special: bool) -> Sequence[int]:
    return encode_one(tokenizer, text, parse_special=parse_special) or ()
