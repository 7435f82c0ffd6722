"""`tokverify audit`: check a GGUF file's tokenizer with static rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.commands.cli.case_options import fail_on_option, reject_aspects, waivers_option
from tokverify.commands.cli.configured import fill_in_settings
from tokverify.commands.cli.options import ModelCommand, jobs_option, models_argument, reference_option, report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.several import check_several
from tokverify.commands.cli.stream import write_text
from tokverify.commands.project.configuration import ConfiguredModel
from tokverify.render.kinds import FORMATS, present
from tokverify.report.check import Part
from tokverify.report.tokenizer_difference import FAIL_ON, SEVERITIES, lowest_severity
from tokverify.sources.stores.location import find_models

if TYPE_CHECKING:
    from tokverify.commands.tasks.check import CheckRequest

_CONFIGURABLE = ("reference", "select", "ignore", "waivers", "fail_on")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(ReportOptions):
    """The options of the command."""

    model: Path | str
    reference: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: tuple[str, ...] | None
    waivers: Path | None

    def request(self, name: str) -> CheckRequest:
        """Describe the task as a part of a check; `name` is that of the model."""
        from tokverify.commands.tasks.check import CheckRequest

        model = ConfiguredModel(
            name=name,
            model=self.model,
            reference=self.reference,
            select=self.select,
            ignore=self.ignore,
            waivers=self.waivers,
            fail_on=self.fail_on,
        )
        return CheckRequest(model=model, parts=[Part.AUDIT], looks_for_reference=False, options=self.as_recorded())


def _parse_codes(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists of codes, and check that each is the beginning of a rule's code."""
    from tokverify.compare.checks import RULES

    prefixes = tuple(prefix.strip().upper() for value in values for prefix in value.split(",") if prefix.strip())
    for prefix in prefixes:
        if not any(code.startswith(prefix) for code in RULES):
            raise click.BadParameter(f"no rule has a code that starts with {prefix!r}; `--explain all` lists the rules")
    return prefixes


def _explain(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Print the manual of a rule and exit."""
    if value is None or ctx.resilient_parsing:
        return
    from tokverify.compare.checks import RULES
    from tokverify.render.audit.manual import write_manual, write_rule

    if value.lower() == "all":
        write_text(write_manual([rule.manual for rule in RULES.values()]))
    elif value.upper() in RULES:
        write_text(write_rule(RULES[value.upper()].manual))
    else:
        raise click.BadParameter(f"there is no rule {value!r}; the rules are {', '.join(RULES)}")
    ctx.exit()


@click.command(cls=ModelCommand)
@models_argument(required=True)
@reference_option("to compare with", "; without one, only the file itself is checked")
@click.option(
    "--select", multiple=True, callback=_parse_codes, metavar="CODES", help="Apply only these rules, such as TV101,TV2."
)
@click.option("--ignore", multiple=True, callback=_parse_codes, metavar="CODES", help="Skip these rules.")
@fail_on_option("findings")
@waivers_option
@click.option(
    "--explain",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    metavar="CODE",
    help="Print what a rule checks, why, and how to repair its findings; `all` for all rules.",
)
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
    reject_aspects(options["fail_on"], SEVERITIES)
    found = find_models(models)
    chosen = [AuditOptions(**fill_in_settings({**options, "model": model}, _CONFIGURABLE)) for model in found.values()]
    if len(chosen) == 1:
        return _audit(chosen[0])
    return check_several(chosen[0], [each.request(name) for name, each in zip(found, chosen, strict=True)], jobs)


def _audit(options: AuditOptions) -> int:
    from tokverify.commands.tasks.audit import audit_model

    check_reports(options, FORMATS["audit"], [options.model, options.reference, options.waivers])
    report = audit_model(
        options.model,
        options.reference,
        select=options.select,
        ignore=options.ignore,
        fail_on=lowest_severity(FAIL_ON if options.fail_on is None else options.fail_on),
        waivers=options.waivers,
        options=options.as_recorded(),
    )
    return write_reports(options, present("audit", report))
