"""`tokverify chat`: try the chat templates of a GGUF file, alone or against the reference's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, model_argument, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.errors import TokverifyError
from tokverify.formats.chat import CHAT_FORMATS, present

if TYPE_CHECKING:
    from pathlib import Path

    from tokverify.chat.report import ChatReport
    from tokverify.chat.trial import ChatReference
    from tokverify.references import FoundReference


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(ReportOptions):
    """What the user asked for."""

    model: Path
    reference: str | None
    conversations: Path | None


@click.command()
@model_argument
@click.option(
    "-r",
    "--reference",
    metavar="LOCATION",
    help="Compare with this tokenizer and the template beside it, in tokenizer_config.json or chat_template.jinja.",
)
@click.option("--conversations", type=PATH, metavar="FILE", help="Conversations of your own in YAML.")
@report_options(CHAT_FORMATS, "What each template writes.")
def chat(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in ChatOptions
    """Try the chat templates in MODEL on a set of conversations.

    What they write is compared with what the reference's templates write, as text and as ids, and checked: for BOS
    that comes twice, markers that are no single token, turns whose end does not end a generation. The exit code is 0
    if nothing worse than a hint is found, 1 if something is, and 2 if there is no template.
    """
    return _chat(ChatOptions(**options))


def _chat(options: ChatOptions) -> int:
    check_reports(options, [options.model, options.reference, options.conversations])
    report = _try(options)
    write_reports(options, present(report))
    return report.exit_code


def _try(options: ChatOptions) -> ChatReport:
    from tokverify import __version__
    from tokverify.chat.conversation import load_conversations
    from tokverify.chat.trial import templates_of, try_templates
    from tokverify.load import load_model
    from tokverify.references import open_reference

    conversations = load_conversations(options.conversations)
    encoder = load_model(options.model)
    found = None
    if options.reference is not None:
        found = open_reference(options.reference, spec=encoder.spec, settings=encoder.settings, model=options.model)
    reference = _reference(found) if found else None
    if not templates_of(encoder.spec) and not (reference and reference.templates):
        raise TokverifyError(f"{options.model}: no chat template in it, nor beside a reference: nothing to try")
    report = try_templates(encoder, conversations, reference)
    return replace(
        report,
        actual=replace(report.actual, source=str(options.model)),
        expected=replace(report.expected, source=found.source) if found and report.expected else None,
        versions={"tokverify": __version__, **(found.versions if found else {})},
    )


def _reference(found: FoundReference) -> ChatReference:
    from tokverify.chat.trial import ChatReference
    from tokverify.references.config import chat_templates, special_texts

    if found.path is None:
        return ChatReference(found.tokenizer, {}, {})
    return ChatReference(found.tokenizer, chat_templates(found.path), special_texts(found.path))
