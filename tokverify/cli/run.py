"""`tokverify run`: verify a GGUF file's tokenizer against its reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.comparison import verify_model
from tokverify.cli.options import PATH, model_argument, report_options, selected_cases, selection_options
from tokverify.cli.output import ReportOptions, check_writable, chosen_format, write_report
from tokverify.cli.progress import ProgressBar
from tokverify.formats import FORMATS
from tokverify.formats.verdict import verdict

if TYPE_CHECKING:
    from tokverify.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(ReportOptions):
    """What the user asked for."""

    model: Path
    reference: str | None
    revision: str | None
    cases: tuple[Path, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    fail_fast: bool
    diagnose: bool

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {
            "model": str(self.model),
            "reference": self.reference,
            "revision": self.revision,
            "cases": [str(path) for path in self.cases],
            "suites": list(self.suites),
            "tags": list(self.tags),
            "patterns": list(self.patterns),
            "fail_fast": self.fail_fast,
            "diagnose": self.diagnose,
        }


@click.command()
@model_argument
@click.option(
    "-r",
    "--reference",
    metavar="LOCATION",
    help="What to compare with: a tokenizer.json, a tokenizer.model, a directory with either, a hub id such as"
    " org/name, `rebuilt`, `llama.cpp`, the address of a llama-server, a tekken.json, tiktoken:NAME, or"
    " FILE.tiktoken:PATTERN. Found by itself if not given.",
)
@click.option("--revision", metavar="REVISION", help="The branch, tag or commit of a hub id.")
@click.option(
    "--cases", multiple=True, type=PATH, metavar="PATH", help="A suite, or a directory of suites; not the shipped ones."
)
@selection_options
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that fails.")
@click.option("--diagnose/--no-diagnose", default=True, help="Search for the reason where cases fail (the default).")
@report_options(FORMATS, "Matching cases and settings too, and nothing folded.")
def run(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in RunOptions
    """Verify the tokenizer in the file MODEL against its reference.

    MODEL is a GGUF file; or a tokenizer.json or a sentencepiece .model, put as a GGUF file would put it.

    Every case is encoded by both; ids that differ are shown side by side. The exit code is 0 if all cases
    match, 1 if one does not, and 2 if the run was not possible.
    """
    return _run(RunOptions(**options))


def _run(options: RunOptions) -> int:
    if options.output:
        check_writable(options.output, [options.model, options.reference, *options.cases])
    report = _verify(options)
    write_report(options, partial(chosen_format(options, FORMATS), report), verdict(report))
    return report.exit_code


def _verify(options: RunOptions) -> Report:
    cases = selected_cases(options.cases, options.suites, options.tags, options.patterns)
    with ProgressBar(wanted=not options.quiet) as progress:
        report = verify_model(
            options.model,
            _location(options),
            cases,
            fail_fast=options.fail_fast,
            diagnose=options.diagnose,
            on_progress=progress.update,
        )
    return replace(report, options=options.told())


def _location(options: RunOptions) -> str | None:
    if options.revision is None:
        return options.reference
    if options.reference is None or Path(options.reference).exists():
        raise click.UsageError("--revision goes with a hub id: name one with -r")
    return f"{options.reference}@{options.revision}"
