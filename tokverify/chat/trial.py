"""Try chat templates on conversations, ours and the reference's, and check what they write."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from tokverify.audit.marker import read_template
from tokverify.chat.check import CHECKS
from tokverify.chat.rendering import Rendering, Task, render
from tokverify.chat.subject import ANSWER, QUESTION, Probes, Subject
from tokverify.errors import EncodeError, UnsupportedError
from tokverify.report.chat import ChatFinding, ChatReport, Rendered, Template
from tokverify.report.finding import ERROR, INFO, Severity
from tokverify.text.wording import plural
from tokverify.tokenizer import shown_tokens
from tokverify.verify.alignment import compare
from tokverify.verify.side import side_of

if TYPE_CHECKING:
    from tokverify.chat.conversation import Conversation
    from tokverify.engine.encoder import Encoder
    from tokverify.report.difference import Difference
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

DEFAULT, TOOL_USE, RAG = "default", "tool_use", "rag"

# No model has more than a few, and each may take ten seconds to be given up.
_MOST_TEMPLATES = 100


@dataclass(frozen=True, slots=True)
class ChatReference:
    """What a file's templates are compared with: a tokenizer, the templates beside it, and its special tokens' texts.

    `special_texts` maps roles (`bos`, `eos`, ...) to texts; a role that is not in it has the same text as on our side.
    """

    tokenizer: Tokenizer
    templates: Mapping[str, str]
    special_texts: Mapping[str, str]


def templates_of(spec: TokenizerSpec) -> dict[str, str]:
    """Map names to the chat templates of a file; the one without a name is called `default`."""
    unnamed = {} if spec.chat_template is None else {DEFAULT: spec.chat_template}
    return {**unnamed, **spec.named_chat_templates}


def try_templates(
    encoder: Encoder, conversations: Sequence[Conversation], reference: ChatReference | None = None
) -> ChatReport:
    """Render each conversation with the templates of our side that are for it, and compare with the reference's.

    Texts are encoded with `parse_special` and without `add_special`, as a runtime does with a rendered chat. A template
    that one side alone has is a finding.
    """
    templates = _paired(templates_of(encoder.spec), reference.templates if reference else {})
    found = {template.name: template.actual for template in templates if template.actual is not None}
    ours = dict(islice(found.items(), _MOST_TEMPLATES))
    results: list[Rendered] = []
    findings = [*_missing(templates)] if reference and reference.templates else []
    for name, source in ours.items():
        trial = _Trial(encoder, reference, name, source, reference.templates.get(name) if reference else None)
        subjects = trial.subjects([one for one in conversations if _is_for(name, ours, one)])
        results += [subject.rendered for subject in subjects]
        findings += trial.findings(subjects)
    untried = ours.keys() - {result.template for result in results}
    return ChatReport(
        side_of(encoder),
        side_of(reference.tokenizer) if reference else None,
        templates,
        tuple(results),
        tuple(sorted(findings, key=lambda finding: -finding.severity)),
        (*_not_checked(ours, reference), *map(_untried, sorted(untried)), *_left_out(len(found) - len(ours))),
    )


def _paired(ours: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[Template, ...]:
    names = [*ours, *sorted(theirs.keys() - ours.keys())]
    return tuple(Template(name, ours.get(name), theirs.get(name)) for name in names)


def _is_for(template: str, names: Container[str], conversation: Conversation) -> bool:
    """Tell whether a template is tried on a conversation.

    transformers and llama.cpp take the one called `tool_use` where there are tools, and only there; `rag` is for
    conversations with documents.
    """
    if template == TOOL_USE:
        return conversation.tools is not None
    if template == RAG:
        return "documents" in conversation.variables
    return template != DEFAULT or conversation.tools is None or TOOL_USE not in names


def _missing(templates: Iterable[Template]) -> Iterator[ChatFinding]:
    for template in templates:
        if template.actual is None:
            yield ChatFinding(ERROR, "missing", "only the reference has this template", template.name)
        elif template.expected is None:
            yield ChatFinding(INFO, "missing", "the reference has no such template", template.name)


def _not_checked(ours: Collection[str], reference: ChatReference | None) -> Iterator[str]:
    if reference is None:
        yield "drift from a reference: none was given; name one with -r"
    elif not reference.templates:
        yield "drift from the reference's template: none stands beside it"
    if reference and not reference.tokenizer.parses_special:
        yield f"the reference's ids: {reference.tokenizer.name} never reads control tokens inside a text"
    if not ours:
        yield "the file's own template: it has none"


def _untried(name: str) -> str:
    what = {TOOL_USE: "that has tools", RAG: "with documents"}.get(name, "it is taken for")
    return f"the template {name}: there is no conversation {what}"


def _left_out(count: int) -> Iterator[str]:
    if count:
        yield f"{plural(count, 'more template')}: only the first {_MOST_TEMPLATES} are tried"


@dataclass(frozen=True)
class _Trial:
    """One template of ours, and the reference's of the same name, if it has one."""

    encoder: Encoder
    reference: ChatReference | None
    name: str
    source: str
    expected: str | None

    def subjects(self, conversations: Sequence[Conversation]) -> list[Subject]:
        """Render and encode every conversation, all in one go."""
        probes = [dict(_probes(conversation)) for conversation in conversations]
        ours = [*conversations, *(changed for probe in probes for changed in probe.values())]
        tasks = _tasks(self.source, ours, self._special_texts)
        if self.reference and self.expected is not None:
            texts = {**self._special_texts, **self.reference.special_texts}
            tasks += _tasks(self.expected, conversations, texts)
        renderings = iter(render(tasks))
        actual = [next(renderings) for _ in conversations]
        probed = [Probes(**{name: next(renderings) for name in probe}) for probe in probes]
        expected = [next(renderings, None) for _ in conversations]
        markers = read_template(self.source)
        return [
            Subject(
                self._encoded(Rendered(conversation, self.name, ours, theirs)),
                probe,
                markers,
                self.encoder.settings,
                self.encoder,
                self._comparable,
            )
            for conversation, ours, theirs, probe in zip(conversations, actual, expected, probed, strict=True)
        ]

    @cached_property
    def _special_texts(self) -> dict[str, str]:
        return {role: self.encoder.piece(id) for role, id in self.encoder.special_ids.items()}

    @property
    def _comparable(self) -> Tokenizer | None:
        """The reference's tokenizer, if it can read what a template writes."""
        return self.reference.tokenizer if self.reference and self.reference.tokenizer.parses_special else None

    def _encoded(self, rendered: Rendered) -> Rendered:
        expected = rendered.actual if rendered.expected is None else rendered.expected
        actual_ids, actual_refusal = _ids(self.encoder, rendered.actual)
        expected_ids, expected_refusal = _ids(self._comparable, expected)
        difference = None
        if expected.text == rendered.actual.text and actual_ids is not None and expected_ids is not None:
            difference = self._difference(actual_ids, expected_ids)
        return replace(
            rendered,
            actual_ids=actual_ids,
            expected_ids=expected_ids,
            actual_refusal=actual_refusal,
            expected_refusal=expected_refusal,
            difference=difference,
        )

    def _difference(self, actual: tuple[int, ...], expected: tuple[int, ...]) -> Difference | None:
        if actual == expected or self._comparable is None:
            return None
        return compare(shown_tokens(self.encoder, actual), shown_tokens(self._comparable, expected))

    def findings(self, subjects: Iterable[Subject]) -> Iterator[ChatFinding]:
        """Check the results; the same in several conversations is one finding, as bad as the worst of them."""
        found: dict[tuple[str, str], list[tuple[Severity, str, str]]] = {}
        for subject in subjects:
            for kind, check in CHECKS.items():
                for severity, message, key in check(subject):
                    told = (severity, message, subject.rendered.conversation.id)
                    found.setdefault((kind, key or message), []).append(told)
        for (kind, _), alike in found.items():
            ids = tuple(dict.fromkeys(id for _, _, id in alike))
            yield ChatFinding(max(severity for severity, _, _ in alike), kind, alike[0][1], self.name, ids)


def _probes(conversation: Conversation) -> Iterator[tuple[str, Conversation]]:
    """Yield the changed conversations whose renderings are `Probes`."""
    if conversation.add_generation_prompt:
        yield "unasked", replace(conversation, add_generation_prompt=False)
        yield "answered", _continued(conversation, "assistant", ANSWER)
    elif conversation.messages[-1]["role"] == "assistant":
        yield "followed", _continued(conversation, "user", QUESTION)


def _continued(conversation: Conversation, role: str, content: str) -> Conversation:
    messages = [*conversation.messages, {"role": role, "content": content}]
    return replace(conversation, messages=messages, add_generation_prompt=False)


def _tasks(source: str, conversations: Iterable[Conversation], special_texts: Mapping[str, str]) -> list[Task]:
    return [Task(source, _variables(conversation, special_texts)) for conversation in conversations]


def _variables(conversation: Conversation, special_texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        **{f"{role}_token": text for role, text in special_texts.items()},
        "documents": None,
        **conversation.variables,
        "messages": list(conversation.messages),
        "tools": conversation.tools,
        "add_generation_prompt": conversation.add_generation_prompt,
    }


def _ids(tokenizer: Tokenizer | None, rendering: Rendering) -> tuple[tuple[int, ...] | None, str]:
    """Return the ids of a text, and why there are none where it cannot be encoded."""
    if tokenizer is None or rendering.text is None:
        return None, ""
    try:
        return tuple(tokenizer.encode(rendering.text, add_special=False, parse_special=True)), ""
    except (EncodeError, UnsupportedError) as error:
        return None, str(error)
