"""`tokverify fuzz`: search for texts that a tokenizer file and its reference encode differently."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.case_options import ASPECTS_HELP, fail_on_option
from tokverify.commands.cli.configured import find_configured, override_settings
from tokverify.commands.cli.locations import PATH, SUITE_PATH
from tokverify.commands.cli.options import (
    ModelCommand,
    allow_outside_option,
    diagnose_option,
    force_option,
    jobs_option,
    model_argument,
    parse_seconds,
    reference_option,
    report_options,
    seed_option,
    texts_option,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.progress import FuzzLine
from tokverify.commands.cli.stream import write_gone, write_stderr
from tokverify.location import Location
from tokverify.render.kinds import present
from tokverify.report.tokenizer_difference import FAIL_ON
from tokverify.system.output_file import check_new_file, check_writable
from tokverify.text.wording import plural
from tokverify.texts.generator import GENERATORS

if TYPE_CHECKING:
    from tokverify.report.fuzz import FuzzReport

_ALL_PERCENT = 100


def _parse_share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Parse a percentage into a number from 0 to 1."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%?", value or "")
    if value is None or (match and 0 < float(match[1]) <= _ALL_PERCENT):
        return float(match[1]) / _ALL_PERCENT if match else None
    raise click.BadParameter(f"{value!r} is not a percentage; write one, such as 95%", ctx, param)


@dataclass(frozen=True, kw_only=True)
class FuzzOptions(ReportOptions):
    """The options of the command; times in seconds, the coverage from 0 to 1."""

    model: Path | str = model_argument()
    reference: Location | str | None = reference_option("to compare with")
    seconds: float | None = option(
        "--time",
        callback=parse_seconds,
        metavar="TIME",
        help="Fuzz for this time, such as 90s or 5m, then stop (default: 60s, unless --texts is given).",
    )
    llama_cpp: str | None = llama_cpp_option()
    count: int | None = texts_option(type=click.IntRange(1))
    until_coverage: float | None = option(
        "--until-coverage",
        callback=_parse_share,
        metavar="SHARE",
        help="Stop when this share of the vocabulary's pieces has occurred in some text, such as 95%.",
    )
    seed: int = seed_option()
    generators: tuple[str, ...] = option(
        "--generator",
        multiple=True,
        type=click.Choice(list(GENERATORS)),
        metavar="KIND",
        help=f"Generate only texts of this kind: {', '.join(GENERATORS)}. Can be repeated.",
    )
    corpus: tuple[Path, ...] = option(
        "--corpus", multiple=True, type=PATH, metavar="FILE", help="A text file to mutate. Can be repeated."
    )
    decoding: bool = option("--decoding", is_flag=True, help="Also compare decoding; always on with llama.cpp.")
    fail_on: tuple[str, ...] | None = fail_on_option("differences between the tokenizers", ASPECTS_HELP)
    diagnose: bool = diagnose_option()
    replay: bool = option(
        "--replay/--no-replay", default=True, help="First try the texts that differed in earlier runs (default)."
    )
    jobs: int = jobs_option(1)
    save: Path | None = option(
        "--save", type=SUITE_PATH, metavar="FILE", recorded=False, help="Write the texts that differ to a YAML suite."
    )
    force: bool = force_option(recorded=False)
    allow_outside: bool = allow_outside_option(recorded=False)


@click.command(cls=ModelCommand)
@takes(FuzzOptions)
@report_options()
def fuzz(options: FuzzOptions) -> int:
    """Search for texts that two tokenizers encode differently.

    MODEL is a GGUF file; or a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN, read as llama.cpp
    would read the equivalent GGUF file; or any other tokenizer, as for -r, such as the address of a server.

    The search stops at the first limit it reaches: --time, --texts or --until-coverage. Texts that differ are shrunk
    to minimal ones, one per cause, and the tokenizers themselves are compared as by `tokverify run`. The exit code
    is 0 if nothing is found, 1 if something is, 2 if the command could not run, and 130 if it was interrupted; even
    then, everything found so far is shown.
    """
    from tokverify.commands.tasks.fuzz import fuzz_model

    if configured := find_configured(options.model, allow_outside=options.allow_outside):
        options = replace(options, reference=override_settings(configured, vars(options)).reference)
    _check(options)
    start = time.monotonic()
    with FuzzLine(enabled=not options.quiet) as line:
        report = fuzz_model(
            options.model,
            options.reference,
            seconds=options.seconds,
            count=options.count,
            coverage=options.until_coverage,
            seed=options.seed,
            generators=options.generators,
            corpus=options.corpus,
            fail_on=FAIL_ON if options.fail_on is None else options.fail_on,
            decoding=options.decoding,
            diagnose=options.diagnose,
            replay=options.replay,
            jobs=options.jobs,
            options=options.as_recorded(),
            on_progress=line.update,
        )
    if not options.quiet and sys.stderr.isatty():
        elapsed = time.monotonic() - start
        rate = report.strings / max(elapsed, 1e-9)
        write_stderr(f"{report.strings:,} texts in {elapsed:.1f} s, {rate:,.0f} per second")
    write_gone(report.gone)
    exit_code = write_reports(options, present("fuzz", report))
    if options.save:
        _save(options, report, options.save)
    return exit_code


def _check(options: FuzzOptions) -> None:
    """Fail before any work is done."""
    if "corpus" in options.generators and not options.corpus:
        raise click.UsageError("--generator corpus mutates the files given with --corpus; name one")
    inputs = [options.model, options.reference, *options.corpus]
    check_reports(options, inputs)
    if options.save:
        check_writable(options.save, inputs)
        check_new_file(options.save, force=options.force)


def _save(options: FuzzOptions, report: FuzzReport, path: Path) -> None:
    from tokverify.commands.tasks.fuzz import save_cases

    count = save_cases(report, path, model=options.model, seed=options.seed)
    if not options.quiet:
        write_stderr(f"{plural(count, 'case')} in {path}" if count else f"nothing was found, so {path} was not written")
