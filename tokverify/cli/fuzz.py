"""`tokverify fuzz`: look for texts that a GGUF file's tokenizer and its reference encode differently."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, ModelCommand, model_argument, report_options, seconds
from tokverify.cli.output import ReportOptions, check_reports, tell, write_reports
from tokverify.cli.progress import FuzzLine
from tokverify.cli.source import read_text
from tokverify.errors import TokverifyError
from tokverify.fuzz.generator import GENERATORS
from tokverify.fuzz.plan import FuzzPlan
from tokverify.render.fuzz import FUZZ_FORMATS, present
from tokverify.report.fuzz import fuzz_exit_code
from tokverify.report.run import Status
from tokverify.system.output_file import check_writable, write_file
from tokverify.tasks.comparison import open_comparison, open_tokenizers

if TYPE_CHECKING:
    from tokverify.report.fuzz import FuzzReport

_DEFAULT_SECONDS = 60.0
_ALL_PERCENT = 100


def _share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%?", value or "")
    if value is None or (match and 0 < float(match[1]) <= _ALL_PERCENT):
        return float(match[1]) / _ALL_PERCENT if match else None
    raise click.BadParameter(f"{value!r} is no share; give a percentage, such as 95%", ctx, param)


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzOptions(ReportOptions):
    """What the user asked for; times in seconds, the coverage from 0 to 1."""

    model: Path
    reference: str | None
    seconds: float | None
    count: int | None
    until_coverage: float | None
    seed: int
    generators: tuple[str, ...]
    corpus: tuple[Path, ...]
    decoding: bool
    jobs: int
    save: Path | None
    force: bool

    def plan(self) -> FuzzPlan:
        """Work out what to try; reads the corpus."""
        return FuzzPlan(
            seed=self.seed,
            generators=self.generators or tuple(GENERATORS),
            count=self.count,
            seconds=_DEFAULT_SECONDS if self.seconds is None and self.count is None else self.seconds,
            coverage=self.until_coverage,
            decoding=self.decoding,
            corpus=tuple(read_text(None, path) for path in self.corpus),
        )

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {
            "model": str(self.model),
            "reference": self.reference,
            "seconds": self.seconds,
            "count": self.count,
            "until_coverage": self.until_coverage,
            "seed": self.seed,
            "generators": list(self.generators),
            "corpus": [str(path) for path in self.corpus],
            "decoding": self.decoding,
        }


@click.command(cls=ModelCommand)
@model_argument
@click.option("-r", "--reference", metavar="LOCATION", help="What to compare with, as for `tokverify run`.")
@click.option(
    "--time",
    "seconds",
    callback=seconds,
    metavar="TIME",
    help="Stop after this time, such as 60s (the default) or 5m.",
)
@click.option("--count", type=click.IntRange(1), metavar="N", help="Stop after N strings.")
@click.option(
    "--until-coverage",
    callback=_share,
    metavar="SHARE",
    help="Stop once this share of the vocabulary's pieces came out of some string, such as 95%.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same strings.")
@click.option(
    "--generator",
    "generators",
    multiple=True,
    type=click.Choice(list(GENERATORS)),
    help="Only strings of this kind; can be given several times.",
)
@click.option(
    "--corpus", multiple=True, type=PATH, metavar="FILE", help="A text file to mutate; several times for more."
)
@click.option("--decode", "decoding", is_flag=True, help="Compare decoding too, as is always done with llama.cpp.")
@click.option("-j", "--jobs", type=click.IntRange(1), default=1, metavar="N", help="Share the work among N processes.")
@click.option("--save", type=PATH, metavar="FILE", help="Write what was found there, as a YAML suite.")
@click.option("--force", is_flag=True, help="Let --save overwrite a file.")
@report_options(FUZZ_FORMATS, "Settings too, and nothing folded.")
def fuzz(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in FuzzOptions
    """Look for texts that MODEL and its reference encode differently.

    MODEL is a GGUF file; or a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN, put as a GGUF file
    would put it.

    What is found is shrunk to minimal texts, one for each cause. The exit code is 0 if nothing is found, 1 if
    something is, 2 if the run was not possible, and 130 if it was interrupted; what was found until then is
    shown, too.
    """
    return _fuzz(FuzzOptions(**options))


def _fuzz(options: FuzzOptions) -> int:
    _check_files(options)
    fuzzed = _run(options)
    write_reports(options, present(fuzzed))
    if options.save:
        _save(options, fuzzed, options.save)
    return fuzz_exit_code(fuzzed)


def _check_files(options: FuzzOptions) -> None:
    """Fail before the work is done."""
    if "corpus" in options.generators and not options.corpus:
        raise click.UsageError("--generator corpus mutates the files given with --corpus; give one")
    inputs = [options.model, options.reference, *options.corpus]
    check_reports(options, inputs)
    if options.save:
        check_writable(options.save, inputs)
    if options.save and options.save.exists() and not options.force:
        raise TokverifyError(f"{options.save}: already there; name another file, or overwrite it with --force")


def _run(options: FuzzOptions) -> FuzzReport:
    from tokverify.fuzz.loop import fuzz as run

    plan = options.plan()
    opened = open_comparison(options.model, options.reference)
    start = time.monotonic()
    with FuzzLine(wanted=not options.quiet) as line:
        fuzzed = run(
            opened.actual,
            opened.expected,
            plan,
            sides=opened.sides,
            jobs=options.jobs,
            open_again=partial(open_tokenizers, options.model, options.reference),
            on_progress=line.update,
        )
    if not options.quiet and sys.stderr.isatty():
        elapsed = time.monotonic() - start
        rate = fuzzed.strings / max(elapsed, 1e-9)
        tell(f"{fuzzed.strings:,} strings in {elapsed:.1f} s, {rate:,.0f} per second")
    versions = {**fuzzed.report.versions, **opened.versions}
    return replace(fuzzed, report=replace(fuzzed.report, options=options.told(), versions=versions))


def _save(options: FuzzOptions, fuzzed: FuzzReport, path: Path) -> None:
    from tokverify.render.suite import render_suite
    from tokverify.text.wording import plural

    cases = [result.case for result in fuzzed.report.results if result.status is not Status.SKIPPED]
    if not cases:
        _say(options, f"nothing was found, so {path} was not written")
        return
    note = (
        f"Found by `tokverify fuzz`: {options.model.name} against {fuzzed.report.expected.name}, seed {options.seed}."
    )
    write_file(path, render_suite(cases, note=note))
    _say(options, f"{plural(len(cases), 'case')} in {path}")


def _say(options: FuzzOptions, message: str) -> None:
    if not options.quiet:
        tell(message)
