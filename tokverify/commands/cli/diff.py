"""`tokverify diff`: compare two tokenizers, such as two versions of one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from tokverify.commands.cli.case_options import CaseOptions
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import parse_seconds, report_options, seed_option
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import argument, option, takes
from tokverify.commands.cli.progress import FuzzLine
from tokverify.render.kinds import present
from tokverify.report.diff import Level, Use
from tokverify.text.wording import suggest_name


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


@dataclass(frozen=True, kw_only=True)
class DiffOptions(CaseOptions, ReportOptions):
    """The options of the command; the time in seconds."""

    old: str = argument(metavar="A")
    new: str = argument(metavar="B")
    fuzz: float | None = option(
        "--time", callback=parse_seconds, metavar="TIME", help="Fuzz for this time as well, such as 30s."
    )
    seed: int = seed_option()
    corpus: tuple[Path, ...] = option(
        "--lines",
        multiple=True,
        type=PATH,
        metavar="FILE",
        help="Count the lines of this file whose ids change. Can be repeated.",
    )
    behavior_only: bool = option(
        "--behavior-only", is_flag=True, help="Accept differing parts if all texts get the same ids."
    )
    breaking: tuple[Level, ...] = option(
        "--breaking",
        callback=_parse_levels,
        metavar="LEVELS",
        help="Fail only if one of these is no longer valid: vocabulary, special, ids, text, or cost, separated by"
        " commas.",
    )
    uses: tuple[Use, ...] = option(
        "--for",
        multiple=True,
        type=click.Choice([str(use) for use in Use]),
        callback=lambda _ctx, _param, value: tuple(map(Use, value)),
        help="Fail only if A and B cannot be used together for this: a target and its draft, the model of an adapter"
        " and another one, an embedder and its reranker, or a model and the vocabulary of a grammar engine. Can be"
        " repeated.",
    )


@click.command()
@takes(DiffOptions)
@report_options()
def diff(options: DiffOptions) -> int:
    """Compare two tokenizers, such as an old one A and a new one B.

    Each is a GGUF file, a tokenizer.json, a .model, a tiktoken file, a directory, a hub id, the address of a
    llama-server, or REVISION:PATH for a file in a git revision, such as HEAD~1:tokenizer.json. The exit code is 0 if
    nothing differs, 1 if something does, and 2 if the two cannot be compared.

    The report says what a change invalidates: the weights (vocabulary), prompts (special), embeddings and caches (ids),
    round trips (text), or only token counts (cost).
    """
    from tokverify.commands.tasks.diff import diff_tokenizers

    if options.uses and (options.breaking or options.behavior_only):
        raise click.UsageError("use --for without --breaking and --behavior-only: it decides alone")
    if options.breaking and options.behavior_only:
        raise click.UsageError("use either --breaking or --behavior-only; --breaking ids only looks at the ids")
    check_reports(options, [options.old, options.new, *options.cases, *options.corpus])
    cases = options.load_cases()
    with FuzzLine(enabled=not options.quiet) as line:
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
