"""`tokverify run`: verify a tokenizer file against its reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.commands.cli.build_option import llama_cpp_option
from tokverify.commands.cli.case_options import (
    ASPECTS_HELP,
    BaselineOptions,
    CaseOptions,
    check_baseline,
    explain_option,
    fail_on_option,
    ignore_option,
    max_failures_option,
    select_option,
    strict_option,
    waivers_option,
)
from tokverify.commands.cli.configured import choose_models, merge_options, override_settings
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import (
    ModelCommand,
    allow_outside_option,
    diagnose_option,
    is_default,
    jobs_option,
    models_argument,
    name_parameter,
    parse_report_file,
    reject_unused,
    report_options,
    resume_option,
    seed_option,
    texts_option,
    thorough_option,
)
from tokverify.commands.cli.output import OF_REPORTS, ReportFile, check_reports, write_reports
from tokverify.commands.cli.parameters import option, takes
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.several import check_several, insert_name, name_reports
from tokverify.commands.cli.stream import write_gone, write_stderr
from tokverify.commands.project.configuration import Configuration, ConfiguredModel
from tokverify.commands.project.configuration_file import repository_of, require_inside
from tokverify.errors import TokverifyError
from tokverify.location import Location
from tokverify.render.kinds import present
from tokverify.system.input_file import relative_path
from tokverify.system.output_file import check_writable

if TYPE_CHECKING:
    from tokverify.commands.tasks.check import CheckRequest

_SECTIONS = {
    "Cases": ("cases", "suites", "tags", "patterns", "last_failed", "max_failures"),
    "What fails": ("fail_on", "baseline", "update_baseline", "reason"),
    "Static rules instead of cases": ("no_reference", "select", "ignore", "explain"),
    "Other questions": ("streaming", "resume", "judge", "count", "seed"),
    "Output": (*OF_REPORTS, "certificate"),
}
"""Heading in the help -> the parameters below it."""

_CASES = frozenset({"cases", "suites", "tags", "patterns"})
_ALWAYS = frozenset({"models", "jobs", "allow_outside", "llama_cpp", "references"})
"""The parameters that have an effect in every form, besides those of reports."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(CaseOptions, BaselineOptions):
    """The options of the command; those of its other forms are recorded by the classes of these."""

    models: tuple[Path | str, ...] = models_argument(required=False, recorded=False)
    model: Location | None = None
    """One of the models, whose settings are then in these options."""
    references: tuple[str, ...] = option(
        "-r",
        "--reference",
        multiple=True,
        metavar="LOCATION",
        recorded=False,
        help="The reference to compare with: a tokenizer.json, a tokenizer.model, a directory with either, a hub id"
        " such as org/name, `rebuilt`, `llama.cpp`, the address of a server, a tekken.json, tiktoken:NAME,"
        " FILE.tiktoken:PATTERN, transformers:PATH, env:PACKAGE:PATH, command:PROGRAM, or `expect` for what the cases"
        " themselves expect. Detected by default. If it is given several times, MODEL is compared with each of them.",
    )
    reference: Location | None = None
    """The first of them, or the configured one."""
    no_reference: bool = option(
        "--no-reference",
        is_flag=True,
        recorded=False,
        help="Only apply the static rules that need no reference: nothing is compared.",
    )
    streaming: bool = option(
        "--streaming",
        is_flag=True,
        recorded=False,
        help="Check instead that decoding ids one by one gives the right text.",
    )
    judge: str | None = option(
        "--judge",
        type=click.Choice(["model"]),
        recorded=False,
        help="Take MODEL as the standard, to test the engine named with -r: also on generated texts, and repeatedly.",
    )
    revision: str | None = option(
        "--revision", metavar="REVISION", help="The branch, tag or commit of the hub id given with -r."
    )
    llama_cpp: str | None = llama_cpp_option()
    last_failed: bool = option(
        "--lf",
        "--last-failed",
        is_flag=True,
        help="Run only the cases that failed when they were last run; all, if none did.",
    )
    max_failures: int | None = max_failures_option()
    fail_on: tuple[str, ...] | None = fail_on_option("differences between the tokenizers", ASPECTS_HELP)
    strict: bool = strict_option()
    diagnose: bool = diagnose_option()
    thorough: bool = thorough_option()
    select: tuple[str, ...] = select_option(recorded=False)
    ignore: tuple[str, ...] = ignore_option(recorded=False)
    waivers: Path | None = waivers_option(recorded=False)
    resume: bool = resume_option(recorded=False)
    count: int | None = texts_option(recorded=False)
    seed: int = seed_option(recorded=False)
    jobs: int = jobs_option(1)
    certificate: Path | None = option(
        "--certificate",
        type=PATH,
        metavar="FILE",
        recorded=False,
        help="Also write what was proven of one MODEL to this file, for `tokverify report verify`.",
    )
    allow_outside: bool = allow_outside_option(recorded=False)

    def check(self) -> None:
        """Fail before any work is done if the options do not fit together.

        Raises:
            UsageError: If an option requires or excludes another one.
            TokverifyError: If the baseline cannot be written.
        """
        if self.update_baseline and (self.max_failures or self.last_failed):
            raise click.UsageError("--accept needs all results; remove --maxfail, --fail-fast or --lf")
        if self.certificate and self.last_failed:
            raise click.UsageError("--certificate certifies the results of all cases; remove --lf")
        check_baseline(self)

    def request(self, model: ConfiguredModel) -> CheckRequest:
        """Describe the task for a model, whose settings are those of these options.

        Raises:
            UsageError: If there is a revision, but no hub id.
        """
        from tokverify.commands.tasks.check import CheckRequest
        from tokverify.report.check import Part

        return CheckRequest(
            model=replace(model, reference=self._location()),
            parts=[Part.RUN],
            max_failures=self.max_failures,
            diagnose=self.diagnose,
            thorough=self.thorough,
            last_failed=self.last_failed,
            update_baseline=self.update_baseline,
            options=self.as_recorded(),
        )

    def _location(self) -> Location | None:
        if self.revision is None:
            return self.reference
        if self.reference is None or Path(self.reference.text).exists():
            raise click.UsageError("--revision requires a hub id; name one with -r")
        return self.reference.at(f"{self.reference.text}@{self.revision}")


@click.command(cls=ModelCommand, sections=_SECTIONS)
@takes(RunOptions)
@explain_option
@report_options()
def run(options: RunOptions) -> int:
    """Verify the tokenizer in the file MODEL against its reference.

    MODEL is a GGUF file; or a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN, read as llama.cpp
    would read the equivalent GGUF file; or a name such as hf:org/name:Q4_K_M, ollama:name or https://.../model.gguf;
    or the name of a model in tokverify.toml or pyproject.toml; or any other tokenizer, as for -r, such as the address
    of a server or KIND:LOCATION. Without MODEL, all models in the configuration are verified. Command-line options
    override the configuration. Several models, a directory, or a pattern such as hf:org/* have one report, which is
    that of `tokverify check`.

    Every case is encoded by both tokenizers, and differing ids are shown side by side. The tokenizers themselves are
    compared too: tokens, types, special ids, what ends a generation. The exit code is 0 if everything compared agrees,
    is a known failure, or differs only by limits of llama.cpp, which are named (docs/limits-of-gguf.md); 1 if a case or
    another difference fails; and 2 if the command could not run, or nothing was compared.

    With --no-reference, the file is only checked by static rules; with --select, these rules are applied with the
    reference, and no case is run. In a list of references, env:PACKAGES stands for the first one as other versions of
    its library load it.
    """
    found, configuration = choose_models(
        options.models, allow_outside=options.allow_outside, accepts=options.update_baseline
    )
    if form := _find_form(options):
        return form.perform(found, options)
    if configuration and not options.models:
        options = replace(
            options,
            reports=options.reports or _configured_reports(configuration),
            jobs=configuration.jobs if is_default("jobs") else options.jobs,
        )
    given = {**vars(options), "reference": next(iter(options.references), None)}
    chosen = [merge_options(RunOptions, given, model) for model in found]
    for each in chosen:
        each.check()
    settings = [override_settings(model, given) for model in found]
    if len(chosen) == 1:
        return _run(insert_name(chosen[0], found[0].name), settings[0])
    if options.certificate:
        raise click.UsageError("--certificate works with one MODEL; run each model by itself")
    requests = [each.request(model) for each, model in zip(chosen, settings, strict=True)]
    return check_several(chosen[0], requests, options.jobs, reason=options.reason)


def _configured_reports(configuration: Configuration) -> tuple[ReportFile, ...]:
    """Parse the configured reports, whose paths are relative to the configuration.

    Raises:
        TokverifyError: If one is not valid, or outside of the repository.
    """
    try:
        reports = [parse_report_file(value) for value in configuration.reports]
    except click.BadParameter as error:
        raise TokverifyError(f"{configuration.source}: reports: {error.message}") from error
    directory = configuration.source.parent
    placed = [report._replace(path=report.path and Path(relative_path(directory / report.path))) for report in reports]
    root = repository_of(configuration.source)
    for model in configuration.models:
        for report in name_reports(placed, model.name):
            if report.path:
                require_inside(report.path, root)
    return tuple(placed)


def _run(options: RunOptions, model: ConfiguredModel) -> int:
    from tokverify.commands.tasks.check import run_model

    inputs = [options.model, options.reference, *options.cases, options.baseline, model.waivers]
    check_reports(options, inputs, [options.baseline, options.certificate])
    if options.certificate:
        check_writable(options.certificate, [each for each in inputs if each])
    with ProgressBar(enabled=not options.quiet, then="looking for causes") as progress:
        report, files = run_model(
            options.request(model), progress.update, reason=options.reason, certificate=options.certificate
        )
    write_gone(report.gone)
    if options.certificate and options.certificate not in files:
        write_stderr(f"warning: {options.certificate} is not written: nothing was compared, or not everything")
    return write_reports(options, present("run", report), files)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Another question that the command answers, with a report of its own kind."""

    options: tuple[str, ...]
    """The options that ask for it; one is enough."""
    is_asked: Callable[[RunOptions], bool]
    """Whether the options of a command line ask for it."""
    takes: frozenset[str]
    """The parameters that have an effect in it besides those of every form."""
    perform: Callable[[Sequence[ConfiguredModel], RunOptions], int]
    """Answers the question about models, given the options; returns the exit code."""

    def __str__(self) -> str:
        return " or ".join(self.options)


def _find_form(options: RunOptions) -> Form | None:
    """Return the form that the command line asks for; None for the usual one, which compares with one reference.

    Raises:
        UsageError: If it asks for two, or an option has no effect in the form.
    """
    asked = [form for form in _FORMS if form.is_asked(options)]
    if len(asked) > 1:
        raise click.UsageError(f"use either {asked[0]}, or {asked[1]}")
    if asked:
        reject_unused(str(asked[0]), _ALWAYS | asked[0].takes)
        return asked[0]
    for parameter in click.get_current_context().command.params:
        name = parameter.name or ""
        if name in _FORMS_ONLY and not is_default(name):
            needed = " or ".join(str(form) for form in _FORMS if name in form.takes)
            raise click.UsageError(f"{name_parameter(parameter)} needs {needed}")
    return None


def _apply_rules(models: Sequence[ConfiguredModel], options: RunOptions) -> int:
    from tokverify.commands.cli.forms import audit_models

    if options.no_reference and options.references:
        raise click.UsageError("use either -r or --no-reference")
    if options.no_reference:
        models = [replace(model, reference=None) for model in models]
    return audit_models(models, {**vars(options), "reference": next(iter(options.references), None)})


def _stream(models: Sequence[ConfiguredModel], options: RunOptions) -> int:
    from tokverify.commands.cli.forms import StreamOptions, stream_model

    model = _only(models, "--streaming")
    given = {**vars(options), "reference": _only_reference(options, "--streaming")}
    return stream_model(merge_options(StreamOptions, given, replace(model, reference=None)))


def _judge_engine(models: Sequence[ConfiguredModel], options: RunOptions) -> int:
    from tokverify.commands.cli.forms import TEXTS, ConformanceOptions, check_engine

    model = _only(models, "--judge model")
    reference = _only_reference(options, "--judge model")
    if reference is None:
        raise click.UsageError("--judge model tests an engine; name it with -r")
    count = TEXTS if options.count is None else options.count
    # What is configured for the model says when it fails, and not when an engine does.
    model = replace(model, fail_on=None)
    given = {**vars(options), "reference": reference, "count": count}
    return check_engine(merge_options(ConformanceOptions, given, model))


def _compare_references(models: Sequence[ConfiguredModel], options: RunOptions) -> int:
    from tokverify.commands.cli.forms import MatrixOptions, compare_with_each

    model = _only(models, "several references")
    return compare_with_each(merge_options(MatrixOptions, vars(options), model))


def _only(models: Sequence[ConfiguredModel], what: str) -> ConfiguredModel:
    if len(models) != 1:
        raise click.UsageError(f"{what} works with one MODEL; run each model by itself")
    return models[0]


def _only_reference(options: RunOptions, what: str) -> str | None:
    if len(options.references) > 1:
        raise click.UsageError(f"{what} works with one reference; run each by itself")
    return next(iter(options.references), None)


_FORMS = (
    Form(
        options=("--no-reference", "--select"),
        is_asked=lambda options: options.no_reference or bool(options.select),
        takes=frozenset({"no_reference", "select", "ignore", "baseline", "waivers", "fail_on"}),
        perform=_apply_rules,
    ),
    Form(
        options=("--streaming",),
        is_asked=lambda options: options.streaming,
        takes=_CASES | {"streaming", "resume"},
        perform=_stream,
    ),
    Form(
        options=("--judge model",),
        is_asked=lambda options: options.judge is not None,
        takes=frozenset({"judge", "count", "seed", "fail_on"}),
        perform=_judge_engine,
    ),
    Form(
        options=("several references",),
        is_asked=lambda options: len(options.references) > 1,
        takes=_CASES | {"fail_on", "strict"},
        perform=_compare_references,
    ),
)
_FORMS_ONLY = frozenset({"ignore", "waivers", "resume", "count", "seed"})
"""The parameters without an effect in the usual form."""
