"""`tokverify audit`: check a GGUF file's tokenizer with static rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.baseline import baseline_option
from tokverify.commands.cli.case_options import fail_on_option, reject_aspects, rule_options
from tokverify.commands.cli.configured import choose_models, merge_options, override_settings
from tokverify.commands.cli.options import ModelCommand, jobs_option, models_argument, reference_option, report_options
from tokverify.commands.cli.output import UNRECORDED, ReportOptions, check_reports, write_reports
from tokverify.commands.cli.renamed import old_command
from tokverify.commands.cli.several import check_several
from tokverify.commands.project.configuration import ConfiguredModel
from tokverify.render.kinds import FORMATS, present
from tokverify.report.check import Part
from tokverify.report.tokenizer_difference import FAIL_ON, SEVERITIES, lowest_severity


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(ReportOptions):
    """The options of the command."""

    model: Path | str
    reference: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: tuple[str, ...] | None
    waivers: Path | None
    baseline: Path | None = field(metadata=UNRECORDED)


@old_command("run MODEL --no-reference`, or with a reference `tokverify run MODEL -r REF --select TV")
@click.command(cls=ModelCommand)
@models_argument(required=True)
@reference_option("to compare with", "; without one, only the file itself is checked")
@rule_options
@baseline_option
@fail_on_option("findings")
@jobs_option(1)
@report_options(FORMATS["audit"])
def audit(
    *,
    models: tuple[Path | str, ...],
    jobs: int,
    **options: Any,  # noqa: ANN401 - by type in AuditOptions
) -> int:
    """Check the tokenizer in the GGUF file MODEL with static rules.

    MODEL can also be a name such as hf:org/name:Q4_K_M; only the metadata is downloaded. Several models, a directory,
    or a pattern such as hf:org/* have one report, which is that of `tokverify check`.

    The exit code is 0 if no finding has the severity in --fail-on or a higher one, 1 if at least one does, and 2 if the
    file cannot be read. A file that llama.cpp refuses is checked as far as possible.
    """
    found, _ = choose_models(models)
    return audit_models(found, options, jobs)


def audit_models(models: Sequence[ConfiguredModel], given: Mapping[str, Any], jobs: int) -> int:
    """Apply the rules to models, write the reports, and return the exit code.

    `given` are the options of the command line, at least those in `AuditOptions`.
    """
    reject_aspects(given["fail_on"], SEVERITIES)
    chosen = [merge_options(AuditOptions, given, model) for model in models]
    if len(chosen) == 1:
        return _audit(chosen[0])
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
    return check_several(chosen[0], requests, jobs)


def _audit(options: AuditOptions) -> int:
    from tokverify.commands.tasks.audit import audit_model
    from tokverify.compare.baseline import load_known

    check_reports(options, FORMATS["audit"], [options.model, options.reference, options.waivers, options.baseline])
    report = audit_model(
        options.model,
        options.reference,
        select=options.select,
        ignore=options.ignore,
        fail_on=lowest_severity(FAIL_ON if options.fail_on is None else options.fail_on),
        baseline=load_known(options.baseline, options.waivers),
        options=options.as_recorded(),
    )
    return write_reports(options, present("audit", report))
