"""`tokverify chat`: check the chat templates of a model, alone or against those of its reference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from tokverify.commands.cli.case_options import baseline_option, fail_on_option, reject_aspects
from tokverify.commands.cli.configured import choose_model, merge_options
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import (
    ModelCommand,
    allow_outside_option,
    is_default,
    model_argument,
    reference_option,
    report_options,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.progress import READING, StatusLine
from tokverify.render.kinds import present
from tokverify.report.tokenizer_difference import NOT_COMPARED, SEVERITIES


@dataclass(frozen=True, kw_only=True)
class ChatOptions(ReportOptions):
    """The options of the command."""

    model: Path | str = model_argument(type=PATH)
    reference: str | None = reference_option(
        "to compare with", "; its template is in tokenizer_config.json or chat_template.jinja next to it"
    )
    conversations: Path | None = option(
        "--conversations", type=PATH, metavar="FILE", help="Your own conversations, in YAML."
    )
    content: Path | None = option(
        "--content", type=PATH, metavar="FILE", help="Only check whether this text of a user becomes control tokens."
    )
    allow_outside: bool = allow_outside_option(recorded=False)
    baseline: Path | None = baseline_option()
    fail_on: tuple[str, ...] | None = fail_on_option(
        "findings", "not-compared to require that everything is checked", default="warning"
    )


@click.command(cls=ModelCommand)
@takes(ChatOptions)
@report_options()
def chat(options: ChatOptions) -> int:
    """Check the chat templates of MODEL on a set of conversations.

    Their output is compared with that of the reference's templates, as text and as ids, and checked for a duplicate
    BOS, markers that are not single tokens, turns whose end does not stop generation, and texts of users that become
    control tokens. The exit code is 0 if there
    is nothing worse than INFO (or what --fail-on says), 1 if there is, and 2 if there is no template.
    """
    reject_aspects(options.fail_on, (*SEVERITIES, NOT_COMPARED))
    if options.content and not is_default("baseline"):
        raise click.UsageError("--baseline has no effect with --content, whose findings are never accepted; remove one")
    model = choose_model(options.model, allow_outside=options.allow_outside)
    return _chat(merge_options(ChatOptions, vars(options), model), model.waivers)


def _chat(options: ChatOptions, waivers: Path | None) -> int:
    from tokverify.commands.tasks.chat import chat_severity, check_chat
    from tokverify.compare.baseline import load_known

    inputs = [options.model, options.reference, options.conversations, options.content, options.baseline, waivers]
    check_reports(options, inputs)
    with StatusLine(enabled=not options.quiet) as line:
        line.show(READING)
        report = check_chat(
            options.model,
            options.reference,
            conversations=options.conversations,
            content=options.content,
            baseline=load_known(options.baseline, waivers),
            fail_on=chat_severity(options.fail_on),
            requires_all=NOT_COMPARED in (options.fail_on or ()),
            options=options.as_recorded(),
        )
    return write_reports(options, present("chat", report))
