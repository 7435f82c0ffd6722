"""Try chat templates on conversations, ours and the reference's, and check what they write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from tokverify.audit.finding import ERROR, INFO, WARNING
from tokverify.audit.marker import read_template
from tokverify.chat.check import CHECKS, Subject
from tokverify.chat.rendering import Task, render
from tokverify.chat.report import ChatFinding, ChatReport, Rendered
from tokverify.errors import EncodeError
from tokverify.side import side_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokverify.chat.conversation import Conversation
    from tokverify.chat.rendering import Rendering
    from tokverify.encoder import Encoder
    from tokverify.spec import TokenizerSpec
    from tokverify.tokenizer import Tokenizer

DEFAULT = "default"


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
    """Render each conversation with each template of our side, and compare with the reference's of the same name.

    Texts are encoded with `parse_special` and without `add_special`, as a runtime does with a rendered chat. A template
    that one side alone has is a finding.
    """
    ours = templates_of(encoder.spec)
    theirs = reference.templates if reference else {}
    results: list[Rendered] = []
    findings = [*_missing(ours, theirs, reference)]
    for name, source in ours.items():
        trial = _Trial(encoder, reference, name, source, theirs.get(name))
        found, unasked = trial.results(conversations)
        results += found
        findings += [*trial.findings(found), *trial.prompt_findings(found, unasked)]
    return ChatReport(
        side_of(encoder),
        side_of(reference.tokenizer) if reference else None,
        tuple(ours),
        tuple(results),
        tuple(sorted(findings, key=lambda finding: -finding.severity)),
        tuple(_not_checked(ours, reference)),
    )


def _missing(
    ours: Mapping[str, str], theirs: Mapping[str, str], reference: ChatReference | None
) -> Iterator[ChatFinding]:
    if reference is None or not theirs:
        return
    for name in sorted(theirs.keys() - ours.keys()):
        yield ChatFinding(ERROR, "missing", "only the reference has this template", name)
    for name in sorted(ours.keys() - theirs.keys()):
        yield ChatFinding(INFO, "missing", "the reference has no such template", name)


def _not_checked(ours: Mapping[str, str], reference: ChatReference | None) -> Iterator[str]:
    if reference is None:
        yield "drift from a reference: none was given; name one with -r"
    elif not reference.templates:
        yield "drift from the reference's template: none stands beside it"
    if reference and not reference.tokenizer.parses_special:
        yield f"the reference's ids: {reference.tokenizer.name} never reads control tokens inside a text"
    if not ours:
        yield "the file's own template: it has none"


@dataclass(frozen=True, slots=True)
class _Trial:
    """One template of ours, and the reference's of the same name, if it has one."""

    encoder: Encoder
    reference: ChatReference | None
    name: str
    source: str
    expected: str | None

    def results(self, conversations: Sequence[Conversation]) -> tuple[list[Rendered], dict[str, Rendering]]:
        """Render and encode every conversation.

        Those with the prompt for an answer are also rendered by our template without it; these are returned by id.
        """
        asked = [conversation for conversation in conversations if conversation.add_generation_prompt]
        ours = [*conversations, *(replace(conversation, add_generation_prompt=False) for conversation in asked)]
        tasks = _tasks(self.source, ours, self._special_texts)
        if self.reference and self.expected is not None:
            texts = {**self._special_texts, **self.reference.special_texts}
            tasks += _tasks(self.expected, conversations, texts)
        renderings = iter(render(tasks))
        actual = list(islice(renderings, len(conversations)))
        unasked = {conversation.id: next(renderings) for conversation in asked}
        triples = zip_longest(conversations, actual, renderings)
        return [self._encoded(Rendered(one, self.name, ours, theirs)) for one, ours, theirs in triples], unasked

    @property
    def _special_texts(self) -> dict[str, str]:
        return {role: self.encoder.piece(id) for role, id in self.encoder.special_ids.items()}

    def _encoded(self, rendered: Rendered) -> Rendered:
        expected = rendered.actual if rendered.expected is None else rendered.expected
        return replace(
            rendered,
            actual_ids=_ids(self.encoder, rendered.actual),
            expected_ids=_ids(self._comparable, expected),
        )

    @property
    def _comparable(self) -> Tokenizer | None:
        """The reference's tokenizer, if it can read what a template writes."""
        return self.reference.tokenizer if self.reference and self.reference.tokenizer.parses_special else None

    def findings(self, results: Sequence[Rendered]) -> Iterator[ChatFinding]:
        """Check the results; what is found in several conversations in the same words is one finding."""
        markers = read_template(self.source)
        found: dict[tuple[Any, ...], list[str]] = {}
        for rendered in results:
            subject = Subject(rendered, markers, self.encoder.settings, self.encoder, self._comparable)
            for kind, check in CHECKS.items():
                for severity, message in check(subject):
                    found.setdefault((severity, kind, message), []).append(rendered.conversation.id)
        for (severity, kind, message), ids in found.items():
            yield ChatFinding(severity, kind, message, self.name, tuple(ids))

    def prompt_findings(self, results: Sequence[Rendered], unasked: Mapping[str, Rendering]) -> Iterator[ChatFinding]:
        """Find a template that writes the same with the prompt for an answer as without it, `unasked`."""
        asked = [r for r in results if r.conversation.id in unasked and r.actual.text is not None]
        same = tuple(r.conversation.id for r in asked if unasked[r.conversation.id].text == r.actual.text)
        if same:
            message = "writes the same with add_generation_prompt as without: the model is not told that it is its turn"
            yield ChatFinding(WARNING, "generation-prompt", message, self.name, same)


def _tasks(source: str, conversations: Iterable[Conversation], special_texts: Mapping[str, str]) -> list[Task]:
    return [Task(source, _variables(conversation, special_texts)) for conversation in conversations]


def _variables(conversation: Conversation, special_texts: Mapping[str, str]) -> dict[str, Any]:
    return {
        **{f"{role}_token": text for role, text in special_texts.items()},
        **conversation.variables,
        "messages": list(conversation.messages),
        "tools": conversation.tools,
        "documents": None,
        "add_generation_prompt": conversation.add_generation_prompt,
    }


def _ids(tokenizer: Tokenizer | None, rendering: Rendering) -> tuple[int, ...] | None:
    if tokenizer is None or rendering.text is None:
        return None
    try:
        return tuple(tokenizer.encode(rendering.text, add_special=False, parse_special=True))
    except EncodeError:
        return None
