"""`tokverify diff`: compare two tokenizers, such as two versions of one."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import cases_option, selection_options
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import parse_seconds, report_options, seed_option
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import FuzzLine
from tokverify.render.kinds import FORMATS, present
from tokverify.report.diff import Level, Use
from tokverify.text.wording import suggest_name


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions(ReportOptions):
    """The options of the command; the time in seconds."""

    old: str
    new: str
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    fuzz: float | None
    seed: int
    corpus: tuple[Path, ...]
    behavior_only: bool
    breaking: tuple[Level, ...]
    uses: tuple[Use, ...]


def _parse_levels(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Level, ...]:
    """Parse a list such as `ids,special`."""
    if value is None:
        return ()
    names = [name.strip() for name in value.split(",")]
    levels = [str(level) for level in Level]
    for name in names:
        if name not in levels:
            raise click.BadParameter(f"{name!r} is not a level; {suggest_name(name, levels)}", ctx, param)
    return tuple(level for level in Level if level in names)


@click.command()
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@cases_option
@selection_options
@click.option("--time", "fuzz", callback=parse_seconds, metavar="TIME", help="Fuzz for this time as well, such as 30s.")
@seed_option
@click.option(
    "--lines",
    "corpus",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Count the lines of this file whose ids change. Can be repeated.",
)
@click.option("--behavior-only", is_flag=True, help="Accept differing parts if all texts get the same ids.")
@click.option(
    "--breaking",
    callback=_parse_levels,
    metavar="LEVELS",
    help="Fail only if one of these is no longer valid: vocabulary, special, ids, text, or cost, separated by commas.",
)
@click.option(
    "--for",
    "uses",
    multiple=True,
    type=click.Choice([str(use) for use in Use]),
    callback=lambda _ctx, _param, value: tuple(map(Use, value)),
    help="Fail only if A and B cannot be used together for this. Can be repeated.",
)
@report_options(FORMATS["diff"])
def diff(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in DiffOptions
    """Compare two tokenizers, such as an old one A and a new one B.

    Each is a GGUF file, a tokenizer.json, a .model, a tiktoken file, a directory, a hub id, the address of a
    llama-server, or REVISION:PATH for a file in a git revision, such as HEAD~1:tokenizer.json. The exit code is 0 if
    nothing differs, 1 if something does, and 2 if the two cannot be compared.

    The report says what a change invalidates: the weights (vocabulary), prompts (special), embeddings and caches (ids),
    round trips (text), or only token counts (cost).
    """
    return _diff(DiffOptions(**options))


def _diff(options: DiffOptions) -> int:
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.diff import diff_tokenizers

    if options.uses and (options.breaking or options.behavior_only):
        raise click.UsageError("use --for without --breaking and --behavior-only: it decides alone")
    if options.breaking and options.behavior_only:
        raise click.UsageError("use either --breaking or --behavior-only; --breaking ids only looks at the ids")
    check_reports(options, FORMATS["diff"], [options.old, options.new, *options.cases, *options.corpus])
    cases = select_cases(options.cases, options.suites, options.tags, options.patterns)
    with FuzzLine(enabled=options.fuzz is not None and not options.quiet and sys.stderr.isatty()) as line:
        report = diff_tokenizers(
            options.old,
            options.new,
            cases,
            fuzz_seconds=options.fuzz,
            seed=options.seed,
            corpus=options.corpus,
            behavior_only=options.behavior_only,
            breaking=options.breaking,
            uses=options.uses,
            options=options.as_recorded(),
            on_progress=line.update,
        )
    return write_reports(options, present("diff", report))
