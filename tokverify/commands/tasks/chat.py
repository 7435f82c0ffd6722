"""Check the chat templates of a model, alone or against those of its reference."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from tokverify.chat.conversation import load_conversations, read_content
from tokverify.chat.trial import ChatReference, try_templates
from tokverify.commands.tasks.opening import ModelSource, ReferenceSource, open_model, open_reference
from tokverify.compare.baseline import Baseline
from tokverify.compare.opened import OpenedModel, OpenedReference, engine_version
from tokverify.errors import TokverifyError
from tokverify.report.chat import ChatReport
from tokverify.report.finding import Severity
from tokverify.report.tokenizer_difference import lowest_severity
from tokverify.sources.config import chat_templates, special_texts
from tokverify.version import __version__


def check_chat(  # noqa: PLR0913 - the optional ones are keywords
    model: ModelSource,
    reference: ReferenceSource = None,
    *,
    conversations: str | Path | None = None,
    content: str | Path | None = None,
    baseline: Baseline | None = None,
    fail_on: Severity | None = Severity.WARNING,
    requires_all: bool = False,
    options: Mapping[str, object] | None = None,
) -> ChatReport:
    """Render conversations with the chat templates of a model, check the results, and compare them with a reference.

    Args:
        model: The model.
        reference: The reference with its templates; without one, only the model's templates are checked.
        conversations: A YAML file of conversations; those that come with tokverify by default.
        content: A file with a text of a user; then it is only checked whether the text becomes control tokens.
        baseline: Known findings; none of a content is accepted.
        fail_on: The lowest severity of findings that fails; None if none does.
        requires_all: Also fail if something was not checked.
        options: The options to record in the report.

    Returns:
        The report, with the result of each template and conversation.

    Raises:
        TokverifyError: If a file cannot be read, or there is no template.
    """
    if content is None:
        tried = load_conversations(None if conversations is None else Path(conversations))
    elif conversations is None:
        tried = [read_content(Path(content))]
    else:
        raise TokverifyError("a content is checked on its own; leave out the conversations or the content")
    opened = open_model(model)
    found = None if reference is None else open_reference(opened, reference)
    chat_reference = _chat_reference(found) if found else None
    if not has_templates(opened, found):
        raise TokverifyError(
            f"{opened.file.location}: nothing to check: the model has no chat template, and no reference provides one;"
            " with -r, name a reference that has a template"
        )
    report = try_templates(opened.encoder, tried, chat_reference, only_contents=content is not None)
    if content is not None and not report.results:
        raise TokverifyError(
            f"{opened.file.location}: the content was not checked, because the model has no template that can be tried"
            f": {'; '.join(finding.message for finding in report.findings) or 'it has none'}"
        )
    report = replace(
        report,
        actual=opened.description,
        expected=found.description if found else None,
        fail_on=fail_on,
        requires_all=requires_all,
        options=dict(options or {}),
        versions={
            "tokverify": __version__,
            **engine_version(opened.encoder),
            "jinja2": version("jinja2"),
            **(found.versions if found else {}),
        },
    )
    return baseline.apply_to_chat(report) if baseline and content is None else report


def chat_severity(fail_on: Collection[str] | None) -> Severity | None:
    """Return the lowest severity that fails, from the names after `--fail-on`; None if none does.

    If the names are only those of aspects, they do not concern chat templates.
    """
    return Severity.WARNING if fail_on is None else lowest_severity(fail_on, Severity.WARNING)


def has_templates(model: OpenedModel, reference: OpenedReference | None) -> bool:
    """Check whether a model or its reference has a chat template."""
    return bool(model.spec.templates or (reference and _chat_reference(reference).templates))


def _chat_reference(found: OpenedReference) -> ChatReference:
    if found.place is None:
        return ChatReference(found.tokenizer, {}, {})
    return ChatReference(found.tokenizer, chat_templates(found.place), special_texts(found.place), found.place)
