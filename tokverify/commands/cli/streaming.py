"""`tokverify stream`: check that ids decoded one by one give the same text as decoded at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import cases_option, selection_options
from tokverify.commands.cli.options import ModelCommand, model_argument, reference_option, report_options, resume_option
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.renamed import old_command
from tokverify.render.kinds import FORMATS, present


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(ReportOptions):
    """The options of the command."""

    model: Path | str
    reference: str | None
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    resume: bool


@old_command("run MODEL --streaming")
@click.command(cls=ModelCommand)
@model_argument
@reference_option("to check in the same way", "; none by default")
@cases_option
@selection_options
@resume_option
@report_options(FORMATS["stream"])
def stream(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in StreamOptions
    """Check that decoding ids one by one gives the right text.

    MODEL is a tokenizer file or any other tokenizer, as for `tokverify run`. The pieces that its decoder returns are
    joined: nothing may be lost or duplicated, and there may be no U+FFFD that is not in the text. A tokenizer that
    cannot decode step by step, such as a server, decodes every prefix of the ids.

    The exit code is 0 if all texts pass, 1 if one fails, and 2 if nothing could be streamed.
    """
    return stream_model(StreamOptions(**options))


def stream_model(options: StreamOptions) -> int:
    """Decode texts id by id, write the reports, and return the exit code."""
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.stream import check_streaming

    check_reports(options, FORMATS["stream"], [options.model, options.reference, *options.cases])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = check_streaming(
            options.model,
            options.reference,
            select_cases(options.cases, options.suites, options.tags, options.patterns),
            resume=options.resume,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("stream", report))
