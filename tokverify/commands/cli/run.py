"""`tokverify run`: verify a tokenizer file against its reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.baseline import baseline_options
from tokverify.commands.cli.case_options import (
    ASPECTS_HELP,
    cases_option,
    fail_on_option,
    last_failed_option,
    max_failures_options,
    selection_options,
    strict_option,
)
from tokverify.commands.cli.configured import fill_in_settings
from tokverify.commands.cli.options import (
    ModelCommand,
    diagnose_option,
    jobs_option,
    models_argument,
    report_options,
    thorough_option,
)
from tokverify.commands.cli.output import write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.run_options import RunOptions
from tokverify.commands.cli.several import check_several
from tokverify.commands.cli.stream import write_gone
from tokverify.commands.project.trust import OPTION
from tokverify.render.kinds import FORMATS, present
from tokverify.sources.stores.location import find_models

_CONFIGURABLE = ("reference", "cases", "suites", "tags", "patterns", "baseline", "fail_on", "strict")


@click.command(cls=ModelCommand)
@models_argument(required=False)
@click.option(
    "-r",
    "--reference",
    metavar="LOCATION",
    help="The reference to compare with: a tokenizer.json, a tokenizer.model, a directory with either, a hub id such as"
    " org/name, `rebuilt`, `llama.cpp`, the address of a server, a tekken.json, tiktoken:NAME,"
    " FILE.tiktoken:PATTERN, transformers:PATH, env:PACKAGE:PATH, command:PROGRAM, or `expect` for what the cases"
    " themselves expect. Detected by default.",
)
@click.option("--revision", metavar="REVISION", help="The branch, tag or commit of the hub id given with -r.")
@cases_option
@selection_options
@last_failed_option
@max_failures_options
@fail_on_option("differences between the tokenizers", ASPECTS_HELP)
@strict_option
@diagnose_option
@thorough_option
@baseline_options
@jobs_option(1)
@click.option(OPTION, is_flag=True, help="Let the configuration name files outside of its repository.")
@report_options(FORMATS["run"])
def run(  # the rest of the options is in RunOptions
    *,
    models: tuple[Path | str, ...],
    jobs: int,
    allow_outside: bool,
    **options: Any,  # noqa: ANN401
) -> int:
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
    """
    if not models:
        from tokverify.commands.cli.matrix import run_configured

        return run_configured(options, jobs, allow_outside=allow_outside)
    found = find_models(models)
    chosen = [_choose(model, options, allow_outside=allow_outside) for model in found.values()]
    if len(chosen) == 1:
        return _run(chosen[0])
    return check_several(chosen[0], [each.request_part(name) for name, each in zip(found, chosen, strict=True)], jobs)


def _choose(model: Path | str, options: Mapping[str, Any], *, allow_outside: bool) -> RunOptions:
    """Combine the options of the command line with those configured for a model."""
    chosen = fill_in_settings({"model": model, "allow_outside": allow_outside, **options}, _CONFIGURABLE)
    del chosen["allow_outside"]
    return RunOptions(**chosen)


def _run(options: RunOptions) -> int:
    from tokverify.commands.tasks.run import run as verify

    options.check()
    with ProgressBar(enabled=not options.quiet) as progress:
        report, files = verify(options.request(), progress.update)
    write_gone(report.gone)
    return write_reports(options, present("run", report), files)
