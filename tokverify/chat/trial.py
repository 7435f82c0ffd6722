"""Render conversations with both sides' chat templates, and check the results."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokverify.chat.check import (
    ANSWER,
    CHECKS,
    EXACT_ANSWER,
    QUESTION,
    THOUGHT,
    ChatSubject,
    Probes,
    after_answer,
    find_after_answer,
)
from tokverify.chat.injection import InjectionSearch
from tokverify.chat.rendering import ChatRendering, Renderer, Task, render_served
from tokverify.chat.text_difference import LineBlock, compare_texts, to_text_difference
from tokverify.compare.look_alike import find_invisible, find_look_alikes, list_odd_tokens
from tokverify.compare.marker import TemplateMarkers, read_template
from tokverify.compare.opened import Opened
from tokverify.compare.side import side_of
from tokverify.engine.encoder import Encoder
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.chat import (
    ChatFinding,
    ChatReport,
    Conversation,
    RenderedConversation,
    Rendering,
    Template,
    TextDifference,
)
from tokverify.report.difference import Difference
from tokverify.report.finding import ERROR, INFO, WARNING, Severity
from tokverify.spec import DEFAULT_TEMPLATE
from tokverify.text.wording import plural, quote, truncate
from tokverify.texts.alignment import compare
from tokverify.tokenizer import Tokenizer, tokens_for_display

if TYPE_CHECKING:
    from tokverify.compare.limits.explaining import Explainer

TOOL_USE, RAG = "tool_use", "rag"

# No model has more than a few, and each may take ten seconds to time out.
_MAX_TEMPLATES = 100


@dataclass(frozen=True, slots=True)
class ChatReference:
    """The reference for a file's templates."""

    tokenizer: Tokenizer

    templates: Mapping[str, str]
    """The sources of its templates, by name."""

    special_texts: Mapping[str, str]
    """The texts of its special tokens by role (`bos`, `eos`, ...); those of other roles are the same as ours."""

    path: Path | None = None
    """The file that it was read from."""


def try_templates(
    encoder: Encoder,
    conversations: Sequence[Conversation],
    reference: ChatReference | None = None,
    *,
    only_contents: bool = False,
) -> ChatReport:
    """Render each conversation with the applicable templates of our side, and compare the results with the reference's.

    Texts are encoded with `parse_special` and without `add_special`, as a runtime encodes a rendered chat. A template
    that only one side has is a finding. With `only_contents`, it is only checked whether the contents of the
    conversations become control tokens.
    """
    found, theirs = encoder.spec.templates, reference.templates if reference else {}
    templates = _pair_templates(found, theirs)
    ours = dict(islice(found.items(), _MAX_TEMPLATES))
    plain = {name for name, source in ours.items() if "{" not in source}
    results: list[RenderedConversation] = []
    tried: dict[str, Conversation] = {}
    findings = [*_find_missing(templates)] if theirs and not only_contents else []
    gaps: list[str] = []
    with Renderer() as renderer:
        for name, source in ours.items():
            if name in plain:
                findings.append(_describe_plain(name, source))
                continue
            trial = _Trial(encoder, reference, renderer, name, source, theirs.get(name))
            subjects = trial.subjects([one for one in conversations if _applies(name, ours, one)])
            tried |= {subject.conversation.id: subject.conversation for subject in subjects}
            results += [subject.rendered for subject in subjects]
            if only_contents:
                findings += trial.findings(subjects, ("failing", "ids"))
                findings += trial.content_injections(subjects)
            else:
                findings += trial.findings(subjects, CHECKS)
                findings += trial.refusals(subjects)
                findings += trial.template_findings()
                gaps += trial.explain_gaps(subjects)
    untried = ours.keys() - plain - {result.template for result in results}
    return ChatReport(
        actual=side_of(encoder),
        expected=side_of(reference.tokenizer) if reference else None,
        findings=tuple(sorted(findings, key=lambda finding: finding.severity, reverse=True)),
        not_checked=(
            *_explain_not_checked(ours, reference),
            *gaps,
            *map(_explain_untried, sorted(untried)),
            *_explain_left_out(len(found) - len(ours)),
        ),
        templates=templates,
        conversations=tuple(tried.values()),
        results=tuple(results),
    )


def _pair_templates(ours: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[Template, ...]:
    pairs = {name: (ours.get(name), theirs.get(name)) for name in [*ours, *sorted(theirs.keys() - ours.keys())]}
    return tuple(Template(name, *pair, _compare(*pair)) for name, pair in pairs.items())


def _compare(actual: str | None, expected: str | None) -> TextDifference | None:
    """Align two texts; None if they are equal or one is missing."""
    if actual is None or expected is None or actual == expected:
        return None
    return to_text_difference(compare_texts(actual, expected))


def _applies(template: str, names: Container[str], conversation: Conversation) -> bool:
    """Check whether a template applies to a conversation.

    transformers and llama.cpp use the template called `tool_use` if and only if there are tools; `rag` is for
    conversations with documents.
    """
    if template == TOOL_USE:
        return conversation.tools is not None
    if template == RAG:
        return "documents" in conversation.variables
    return template != DEFAULT_TEMPLATE or conversation.tools is None or TOOL_USE not in names


def _find_missing(templates: Iterable[Template]) -> Iterator[ChatFinding]:
    for template in templates:
        if template.actual is None:
            yield ChatFinding(ERROR, "missing", template.name, "only the reference has this template")
        elif template.expected is None:
            yield ChatFinding(INFO, "missing", template.name, "the reference has no template with this name")


def _describe_plain(name: str, source: str) -> ChatFinding:
    """Describe a template that has nothing to fill in: often the name of one that llama.cpp knows."""
    text = quote(truncate(source))
    if source == "chatml":
        message = (
            f"is the name {text}, for which llama-server uses ChatML; transformers writes this word as every prompt"
        )
        return ChatFinding(INFO, "lost-content", name, message)
    message = f"is not a template: it has nothing to fill in, so every prompt is {text}"
    if re.fullmatch(r"[a-z][\w.-]*", source):
        message += "; if this is the name of a template that llama.cpp knows, only --no-jinja uses it as one"
    return ChatFinding(WARNING, "lost-content", name, message)


def _explain_not_checked(ours: Collection[str], reference: ChatReference | None) -> Iterator[str]:
    if reference is None:
        yield "differences from a reference: none was given; name one with -r"
    elif isinstance(reference.tokenizer, ChatRendering):
        yield (
            "templates other than the server's default one, and conversations that the server would continue or that "
            "its version does not render"
        )
    elif not reference.templates:
        yield "differences from the reference's template: there is none next to the reference"
    if reference and not reference.tokenizer.parses_special:
        yield f"the reference's ids: {reference.tokenizer.name} never recognizes control tokens in a text"
    if not ours:
        yield "the file's own template: it has none"


def _explain_untried(name: str) -> str:
    reason = {TOOL_USE: "no conversation has tools", RAG: "no conversation has documents"}
    return f"the template {name}: {reason.get(name, 'no conversation uses it')}"


def _explain_left_out(count: int) -> Iterator[str]:
    if count:
        yield f"{plural(count, 'more template')}: only the first {_MAX_TEMPLATES} are tried"


@dataclass(frozen=True)
class _Trial:
    """A template of ours, to be compared with the reference's."""

    encoder: Encoder
    reference: ChatReference | None
    renderer: Renderer

    name: str
    """The name of the template."""

    source: str

    expected: str | None
    """The source of the reference's template with the same name."""

    def subjects(self, conversations: Sequence[Conversation]) -> list[ChatSubject]:
        """Render and encode all conversations at once."""
        if self._server:
            conversations = self._adapt(conversations, self._server)
        probes = [dict(_probes(conversation)) for conversation in conversations]
        ours = [*conversations, *chain.from_iterable(probe.values() for probe in probes)]
        tasks = self._tasks(ours)
        if self.reference and self.expected is not None:
            texts = {**self._special_texts, **self.reference.special_texts}
            needs_parts = (
                self._needs_parts if self.expected == self.source else _needs_parts(self.renderer, self.expected, texts)
            )
            tasks += _tasks(self.expected, conversations, texts, needs_parts, self._now)
        renderings = iter(self.renderer.render(tasks))
        actual = [next(renderings) for _ in conversations]
        probed = [Probes(**{name: next(renderings) for name in probe}) for probe in probes]
        expected = [next(renderings, None) for _ in conversations]
        if self._server:
            served = render_served(self._server, conversations)
            expected = [self._add_bos(ours, theirs) for ours, theirs in zip(actual, served, strict=True)]
        markers = read_template(self.source)
        return [
            self._subject(conversation, ours, theirs, probe, markers)
            for conversation, ours, theirs, probe in zip(conversations, actual, expected, probed, strict=True)
        ]

    def _tasks(self, conversations: Iterable[Conversation]) -> list[Task]:
        return _tasks(self.source, conversations, self._special_texts, self._needs_parts, self._now)

    @property
    def _server(self) -> ChatRendering | None:
        """The reference, if it is a server that renders with this template."""
        is_default = self.reference is not None and self.name == DEFAULT_TEMPLATE
        tokenizer = self.reference.tokenizer if self.reference and is_default else None
        return tokenizer if isinstance(tokenizer, ChatRendering) else None

    @cached_property
    def _now(self) -> str:
        """The local time, in which a server renders; empty if there is none, so that each run is the same."""
        return datetime.now().isoformat() if self._server else ""

    def _adapt(self, conversations: Sequence[Conversation], server: ChatRendering) -> list[Conversation]:
        """Return the conversations with what a server adds, and with contents in parts as it passes them on."""
        known = [replace(each, variables={**server.chat_variables, **each.variables}) for each in conversations]
        if not server.adapts_chats:
            return known
        shown = self.renderer.render(self._tasks(known))
        return [
            each if _shows_parts(rendering) else _join_parts(each) for each, rendering in zip(known, shown, strict=True)
        ]

    def _add_bos(self, ours: Rendering, theirs: Rendering | None) -> Rendering | None:
        """Write BOS where a server leaves it to the tokenizer, which adds it to every text."""
        bos = self._special_texts.get("bos", "")
        is_left_out = self._server is not None and self._server.adapts_chats and self.encoder.settings.add_bos
        if not is_left_out or theirs is None or theirs.text is None or not (ours.text or "").startswith(bos):
            return theirs
        return replace(theirs, text=bos + theirs.text)

    @cached_property
    def _needs_parts(self) -> bool:
        return _needs_parts(self.renderer, self.source, self._special_texts)

    def _subject(
        self,
        conversation: Conversation,
        actual: Rendering,
        expected: Rendering | None,
        probes: Probes,
        markers: TemplateMarkers,
    ) -> ChatSubject:
        blocks: list[LineBlock] = []
        if expected and None not in (actual.text, expected.text) and actual.text != expected.text:
            blocks = compare_texts(actual.text or "", expected.text or "")
        rendered = RenderedConversation(
            template=self.name,
            conversation=conversation.id,
            actual=actual,
            expected=expected,
            text_difference=to_text_difference(blocks) if blocks else None,
        )
        rendered = self._add_ids(rendered)
        return ChatSubject(
            conversation=conversation,
            rendered=rendered,
            probes=probes,
            markers=markers,
            settings=self.encoder.settings,
            actual=self.encoder,
            expected=self._comparable,
            odd_tokens=self._odd_tokens,
            limits=self._explain(rendered),
            differences=tuple(blocks),
        )

    def _explain(self, rendered: RenderedConversation) -> str:
        """Name the limits of llama.cpp that explain why the same text has different ids."""
        if rendered.difference is None or self.reference is None:
            return ""
        from tokverify.compare.limits.limit import Text

        text, expected = rendered.actual.text or "", rendered.expected_ids or ()
        return self._explainer.describe(self._explainer.find(Text(text, False, True, expected)))

    @cached_property
    def _explainer(self) -> Explainer:
        # Most templates have no reference, and the table of limits takes long to load.
        from tokverify.compare.limits.explaining import Explainer, explainer_of

        if self.reference is None:
            return Explainer()
        return explainer_of(self.encoder, Opened(self.reference.tokenizer, self.reference.path))

    @cached_property
    def _odd_tokens(self) -> tuple[str, ...]:
        return list_odd_tokens(self.encoder.settings.added_tokens)

    @cached_property
    def _special_texts(self) -> dict[str, str]:
        return {role: self.encoder.piece(id) for role, id in self.encoder.special_ids.items()}

    @property
    def _comparable(self) -> Tokenizer | None:
        """The reference's tokenizer, if it recognizes control tokens in a text."""
        return self.reference.tokenizer if self.reference and self.reference.tokenizer.parses_special else None

    def _add_ids(self, rendered: RenderedConversation) -> RenderedConversation:
        expected = rendered.actual if rendered.expected is None else rendered.expected
        actual_ids, actual_refusal = _encode(self.encoder, rendered.actual)
        expected_ids, expected_refusal = _encode(self._comparable, expected)
        difference = None
        if expected.text == rendered.actual.text and actual_ids is not None and expected_ids is not None:
            difference = self._compare_ids(actual_ids, expected_ids)
        return replace(
            rendered,
            actual_ids=actual_ids,
            expected_ids=expected_ids,
            actual_refusal=actual_refusal,
            expected_refusal=expected_refusal,
            difference=difference,
        )

    def _compare_ids(self, actual: tuple[int, ...], expected: tuple[int, ...]) -> Difference | None:
        if actual == expected or self._comparable is None:
            return None
        return compare(tokens_for_display(self.encoder, actual), tokens_for_display(self._comparable, expected))

    @cached_property
    def _injection_search(self) -> InjectionSearch:
        def render_here(conversations: Sequence[Conversation]) -> list[Rendering]:
            return self.renderer.render(self._tasks(conversations))

        return InjectionSearch(self.encoder, read_template(self.source), render_here, self._comparable)

    def refusals(self, subjects: Sequence[ChatSubject]) -> Iterator[ChatFinding]:
        """Report a template that refuses everything, of which each refusal alone would be as its author wanted."""
        asked = [subject for subject in subjects if not subject.conversation.needs]
        if asked and all(subject.is_refused for subject in asked) and not self._injection_search.renders_user:
            message = f"refuses every conversation: {truncate(asked[0].rendered.actual.error)}"
            yield ChatFinding(ERROR, "failing", self.name, message)

    def explain_gaps(self, subjects: Sequence[ChatSubject]) -> Iterator[str]:
        """Yield what cannot be searched for in this template."""
        if self._injection_search.gap:
            yield f"the template {self.name}: {self._injection_search.gap}"
        answered = [text for each in subjects if each.probes.answered and (text := each.probes.answered.text)]
        is_seen = any(map(find_after_answer, subjects)) or any(after_answer(text) is not None for text in answered)
        if answered and not is_seen:
            yield f"the template {self.name}: what ends an answer, because it does not write an answer as it is"

    def template_findings(self) -> Iterator[ChatFinding]:
        """Check the template as a whole."""
        if self._needs_parts:
            message = "shows contents only as lists of parts: llama-server makes them of strings, transformers does not"
            yield ChatFinding(INFO, "lost-content", self.name, message)
        found = {
            "injection": self._injection_search.search(),
            "look-alike": find_look_alikes(self.encoder, read_template(self.source)),
            "invisible": find_invisible(self.encoder, self.source),
        }
        for kind, problems in found.items():
            for severity, message in problems:
                yield ChatFinding(severity, kind, self.name, message)

    def content_injections(self, subjects: Iterable[ChatSubject]) -> Iterator[ChatFinding]:
        """Check whether these contents become control tokens."""
        for subject in subjects:
            ids = subject.rendered.actual_ids or ()
            for severity, message in self._injection_search.search_content(subject.conversation, ids):
                yield ChatFinding(severity, "injection", self.name, message, (subject.conversation.id,))

    def findings(self, subjects: Iterable[ChatSubject], kinds: Iterable[str]) -> Iterator[ChatFinding]:
        """Check the results; the same problem in several conversations becomes one finding."""
        found: dict[tuple[str, str], list[tuple[Severity, str, str]]] = {}
        for subject in subjects:
            for kind in kinds:
                for severity, message, key in CHECKS[kind](subject):
                    problem = (severity, message, subject.conversation.id)
                    found.setdefault((kind, key or message), []).append(problem)
        for (kind, _), alike in found.items():
            ids = tuple(dict.fromkeys(id for _, _, id in alike))
            yield ChatFinding(max(severity for severity, _, _ in alike), kind, self.name, alike[0][1], ids)


def _probes(conversation: Conversation) -> Iterator[tuple[str, Conversation]]:
    """Yield the changed conversations for `Probes`, with the names of its fields."""
    if conversation.add_generation_prompt:
        yield "unasked", replace(conversation, add_generation_prompt=False)
        answered = _continue(conversation, "assistant", ANSWER)
        yield "answered", answered
        thinking = _continue(conversation, "assistant", f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}")
        exact = _continue(conversation, "assistant", EXACT_ANSWER)
        for name, before in (("continued", answered), ("thinking", thinking), ("exact", exact)):
            yield name, replace(_continue(before, "user", QUESTION), add_generation_prompt=True)
    elif conversation.messages[-1]["role"] == "assistant":
        yield "followed", _continue(conversation, "user", QUESTION)


def _continue(conversation: Conversation, role: str, content: str) -> Conversation:
    messages = [*conversation.messages, {"role": role, "content": content}]
    return replace(conversation, messages=messages, add_generation_prompt=False)


def _with_parts(conversation: Conversation) -> Conversation:
    messages = [
        {**message, "content": [{"type": "text", "text": content}]}
        if isinstance(content := message.get("content"), str)
        else message
        for message in conversation.messages
    ]
    return replace(conversation, messages=messages)


def _shows_parts(rendering: Rendering) -> bool:
    """Check whether a template takes contents in parts, and does not write them as Python would."""
    return rendering.text is not None and "'type': 'text'" not in rendering.text


def _join_parts(conversation: Conversation) -> Conversation:
    messages = [
        {**message, "content": "\n".join(str(part.get("text", "")) for part in content)}
        if isinstance(content := message.get("content"), list)
        else message
        for message in conversation.messages
    ]
    return replace(conversation, messages=messages)


def _needs_parts(renderer: Renderer, source: str, special_texts: Mapping[str, str]) -> bool:
    """Check whether a template shows contents only as lists of parts, which llama-server then makes of strings."""
    if "is string" in source or not re.search(r"\btext\b", source):
        return False
    plain = Conversation(id="", messages=[{"role": "user", "content": QUESTION}], add_generation_prompt=True)
    texts = renderer.render([task for needs in (False, True) for task in _tasks(source, [plain], special_texts, needs)])
    return [QUESTION in (rendering.text or "") for rendering in texts] == [False, True]


def _tasks(
    source: str,
    conversations: Iterable[Conversation],
    special_texts: Mapping[str, str],
    needs_parts: bool,
    now: str = "",
) -> list[Task]:
    given = map(_with_parts, conversations) if needs_parts else conversations
    return [Task(source, _variables(conversation, special_texts), now) for conversation in given]


def _variables(conversation: Conversation, special_texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        **{f"{role}_token": text for role, text in special_texts.items()},
        "documents": None,
        **conversation.variables,
        "messages": list(conversation.messages),
        "tools": conversation.tools,
        "add_generation_prompt": conversation.add_generation_prompt,
    }


def _encode(tokenizer: Tokenizer | None, rendering: Rendering) -> tuple[tuple[int, ...] | None, str]:
    """Return the ids of a text, or None and the reason why it cannot be encoded."""
    if tokenizer is None or rendering.text is None:
        return None, ""
    try:
        return tuple(tokenizer.encode(rendering.text, add_special=False, parse_special=True)), ""
    except (EncodeError, UnsupportedError) as error:
        return None, str(error)
