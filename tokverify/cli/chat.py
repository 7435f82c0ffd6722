"""`tokverify chat`: try the chat templates of a GGUF file, alone or against the reference's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, ModelCommand, model_argument, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.errors import TokverifyError
from tokverify.render.chat import CHAT_FORMATS, present
from tokverify.report.chat import chat_exit_code

if TYPE_CHECKING:
    from tokverify.chat.trial import ChatReference
    from tokverify.report.chat import ChatReport
    from tokverify.tasks.comparison import ReferenceComparison


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions(ReportOptions):
    """What the user asked for."""

    model: Path
    reference: str | None
    conversations: Path | None

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {
            "model": str(self.model),
            "reference": self.reference,
            "conversations": None if self.conversations is None else str(self.conversations),
        }


@click.command(cls=ModelCommand)
@model_argument
@click.option(
    "-r",
    "--reference",
    metavar="LOCATION",
    help="Compare with this tokenizer and the template beside it, in tokenizer_config.json or chat_template.jinja.",
)
@click.option("--conversations", type=PATH, metavar="FILE", help="Conversations of your own in YAML.")
@report_options(CHAT_FORMATS, "What each template writes, and where the two part.")
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
    return chat_exit_code(report)


def _try(options: ChatOptions) -> ChatReport:
    from tokverify import __version__
    from tokverify.chat.conversation import load_conversations
    from tokverify.chat.trial import templates_of, try_templates
    from tokverify.files.load import load_model
    from tokverify.tasks.comparison import model_side, open_comparison

    conversations = load_conversations(options.conversations)
    opened = open_comparison(options.model, options.reference) if options.reference is not None else None
    encoder = opened.actual if opened else load_model(options.model)
    reference = _reference(opened) if opened else None
    if not templates_of(encoder.spec) and not (reference and reference.templates):
        problem = "no chat template in it, nor beside a reference: nothing to try"
        raise TokverifyError(f"{options.model}: {problem}; name with -r a reference that has one")
    report = try_templates(encoder, conversations, reference)
    actual, expected = opened.sides if opened else (model_side(options.model, encoder), None)
    return replace(
        report,
        actual=actual,
        expected=expected,
        options=options.told(),
        versions={"tokverify": __version__, "jinja2": version("jinja2"), **(opened.versions if opened else {})},
    )


def _reference(opened: ReferenceComparison) -> ChatReference:
    from tokverify.chat.trial import ChatReference
    from tokverify.files.config import chat_templates, special_texts

    if opened.path is None:
        return ChatReference(opened.expected, {}, {})
    return ChatReference(opened.expected, chat_templates(opened.path), special_texts(opened.path))
