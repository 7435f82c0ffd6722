"""The other questions that `tokverify run` answers, each of which is also a command of an old name.

`audit` applies the static rules, `stream` checks incremental decoding, `conformance` tests an engine, and `versions`
compares a model with several references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.commands.cli.case_options import (
    ASPECTS_HELP,
    CaseOptions,
    baseline_option,
    explain_option,
    fail_on_option,
    ignore_option,
    reject_aspects,
    select_option,
    waivers_option,
)
from tokverify.commands.cli.configured import choose_models, merge_options, override_settings
from tokverify.commands.cli.group import old_command
from tokverify.commands.cli.options import (
    ModelCommand,
    allow_outside_option,
    jobs_option,
    model_argument,
    models_argument,
    reference_option,
    report_options,
    resume_option,
    seed_option,
    texts_option,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.several import check_several
from tokverify.commands.cli.stream import write_gone
from tokverify.commands.project.configuration import ConfiguredModel
from tokverify.location import Location
from tokverify.render.kinds import present
from tokverify.report.check import Part
from tokverify.report.tokenizer_difference import FAIL_ON, SEVERITIES, lowest_severity

if TYPE_CHECKING:
    from tokverify.report.versions import VersionsReport


@dataclass(frozen=True, kw_only=True)
class StreamOptions(CaseOptions, ReportOptions):
    """The options of `tokverify stream`."""

    model: Path | str = model_argument()
    reference: str | None = reference_option("to check in the same way", "; none by default")
    resume: bool = resume_option()


@old_command("run MODEL --streaming")
@click.command(cls=ModelCommand)
@takes(StreamOptions)
@report_options()
def stream(options: StreamOptions) -> int:
    """Check that decoding ids one by one gives the right text.

    MODEL is a tokenizer file or any other tokenizer, as for `tokverify run`. The pieces that its decoder returns are
    joined: nothing may be lost or duplicated, and there may be no U+FFFD that is not in the text. A tokenizer that
    cannot decode step by step, such as a server, decodes every prefix of the ids.

    The exit code is 0 if all texts pass, 1 if one fails, and 2 if nothing could be streamed.
    """
    return stream_model(options)


def stream_model(options: StreamOptions) -> int:
    """Decode texts id by id, write the reports, and return the exit code."""
    from tokverify.commands.tasks.stream import check_streaming

    check_reports(options, [options.model, options.reference, *options.cases])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = check_streaming(
            options.model,
            options.reference,
            options.load_cases(),
            resume=options.resume,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("stream", report))


@dataclass(frozen=True, kw_only=True)
class AuditOptions(ReportOptions):
    """The options of `tokverify audit`."""

    models: tuple[Path | str, ...] = models_argument(required=True, recorded=False)
    model: Location | None = None
    """One of the models, whose settings are then in these options."""
    reference: str | None = reference_option("to compare with", "; without one, only the file itself is checked")
    select: tuple[str, ...] = select_option()
    ignore: tuple[str, ...] = ignore_option()
    fail_on: tuple[str, ...] | None = fail_on_option("findings")
    waivers: Path | None = waivers_option()
    baseline: Path | None = baseline_option(recorded=False)
    allow_outside: bool = allow_outside_option(recorded=False)
    jobs: int = jobs_option(1)


@old_command("run MODEL --no-reference`, or with a reference `tokverify run MODEL -r REF --select TV")
@click.command(cls=ModelCommand)
@takes(AuditOptions)
@explain_option
@report_options()
def audit(options: AuditOptions) -> int:
    """Check the tokenizer in the GGUF file MODEL with static rules.

    MODEL can also be a name such as hf:org/name:Q4_K_M; only the metadata is downloaded. Several models, a directory,
    or a pattern such as hf:org/* have one report, which is that of `tokverify check`.

    The exit code is 0 if no finding has the severity in --fail-on or a higher one, 1 if at least one does, and 2 if the
    file cannot be read. A file that llama.cpp refuses is checked as far as possible.
    """
    found, _ = choose_models(options.models, allow_outside=options.allow_outside)
    return audit_models(found, vars(options))


def audit_models(models: Sequence[ConfiguredModel], given: Mapping[str, Any]) -> int:
    """Apply the rules to models, write the reports, and return the exit code.

    `given` are the options of the command line, at least those in `AuditOptions`.
    """
    reject_aspects(given["fail_on"], SEVERITIES)
    chosen = [merge_options(AuditOptions, given, model) for model in models]
    if len(chosen) == 1:
        return _audit(chosen[0], models[0].model)
    from tokverify.commands.tasks.check import CheckRequest

    requests = [
        CheckRequest(
            model=override_settings(model, given),
            parts=[Part.AUDIT],
            looks_for_reference=False,
            options=options.as_recorded(),
        )
        for model, options in zip(models, chosen, strict=True)
    ]
    return check_several(chosen[0], requests, chosen[0].jobs)


def _audit(options: AuditOptions, model: Location) -> int:
    from tokverify.commands.tasks.audit import audit_model
    from tokverify.compare.baseline import load_known

    check_reports(options, [model, options.reference, options.waivers, options.baseline])
    report = audit_model(
        model,
        options.reference,
        select=options.select,
        ignore=options.ignore,
        fail_on=lowest_severity(FAIL_ON if options.fail_on is None else options.fail_on),
        baseline=load_known(options.baseline, options.waivers),
        options=options.as_recorded(),
    )
    return write_reports(options, present("audit", report))


TEXTS = 2000
"""The default number of generated texts."""


@dataclass(frozen=True, kw_only=True)
class ConformanceOptions(ReportOptions):
    """The options of `tokverify conformance`."""

    model: Path | str = model_argument()
    reference: str = reference_option(
        "to check", ": the engine, such as 'command:./my-engine --model model.gguf'", required=True
    )
    count: int = texts_option(default=TEXTS)
    seed: int = seed_option()
    fail_on: tuple[str, ...] | None = fail_on_option(
        "differences between the tokenizers", ASPECTS_HELP, default="error,decoding"
    )


@old_command("run MODEL -r ENGINE --judge model")
@click.command()
@takes(ConformanceOptions)
@report_options()
def conformance(options: ConformanceOptions) -> int:
    """Check that an engine encodes as llama.cpp does.

    The engine is compared with the tokenizer in the file MODEL, which it should have read: on the shipped cases and on
    generated texts, including decoding and its vocabulary. Texts are also encoded repeatedly, alone and in batches.
    The report is that of `tokverify run`, with MODEL as the actual side and the engine as the expected one.

    The exit code is 0 if everything compared agrees, 1 if something differs, and 2 if the command could not run.
    """
    return check_engine(options)


def check_engine(options: ConformanceOptions) -> int:
    """Check an engine against the model, write the reports, and return the exit code."""
    from tokverify.commands.tasks.conformance import FAIL_ON, check_conformance

    check_reports(options, [options.model])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = check_conformance(
            options.reference,
            options.model,
            count=options.count,
            seed=options.seed,
            fail_on=FAIL_ON if options.fail_on is None else options.fail_on,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    write_gone(report.gone)
    return write_reports(options, present("run", report))


@dataclass(frozen=True, kw_only=True)
class VersionsOptions(CaseOptions, ReportOptions):
    """The options of `tokverify versions`."""

    model: Path | str = model_argument()
    reference: str | None = reference_option(
        "to compare with", ": a tokenizer.json, a directory or hub id with one, or transformers:LOCATION"
    )
    environments: tuple[str, ...] = option(
        "--env",
        multiple=True,
        required=True,
        metavar="PACKAGES",
        help="The packages of an environment, such as tokenizers==0.21.0 or 'transformers==4.57.0 tiktoken'."
        " Can be repeated.",
    )
    fail_on: tuple[str, ...] | None = fail_on_option("differences between the tokenizers", ASPECTS_HELP)


@dataclass(frozen=True, kw_only=True)
class MatrixOptions(CaseOptions, ReportOptions):
    """The options of `tokverify run` with several references."""

    model: Path | str
    references: tuple[str, ...]
    fail_on: tuple[str, ...] | None
    strict: bool


@old_command("run MODEL -r REF -r env:PACKAGES")
@click.command(cls=ModelCommand)
@takes(VersionsOptions)
@report_options()
def versions(options: VersionsOptions) -> int:
    """Show which versions of a library produce which ids.

    MODEL is compared with its reference as for `tokverify run`: once with the library that is installed, and once in
    each environment, which uv or pip creates on first use. Installing a package runs its code.

    The exit code is 0 if MODEL agrees with all versions, 1 if it differs from one, and 2 if a version could not be
    tried.
    """
    from tokverify.commands.tasks.versions import compare_library_versions

    compare = partial(compare_library_versions, options.model, options.environments, options.reference)
    return _compare(options, [options.reference], compare)


def compare_with_each(options: MatrixOptions) -> int:
    """Compare a model with each of several references, write the reports, and return the exit code."""
    from tokverify.commands.tasks.versions import compare_references

    compare = partial(compare_references, options.model, options.references, strict=options.strict)
    return _compare(options, options.references, compare)


def _compare(
    options: VersionsOptions | MatrixOptions, references: Sequence[str | None], compare: Callable[..., VersionsReport]
) -> int:
    check_reports(options, [options.model, *references, *options.cases])
    with ProgressBar(enabled=not options.quiet) as progress:
        report = compare(
            options.load_cases(),
            fail_on=FAIL_ON if options.fail_on is None else options.fail_on,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("versions", report))
