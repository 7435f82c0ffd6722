"""`tokverify audit`: check a GGUF file's tokenizer by static rules, alone or against its reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, ModelCommand, model_argument, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports, write_text
from tokverify.errors import TokverifyError
from tokverify.render.audit import AUDIT_FORMATS, present
from tokverify.report.audit import audit_exit_code
from tokverify.report.finding import Severity

if TYPE_CHECKING:
    from tokverify.audit import AuditReport
    from tokverify.audit.rule import Rule
    from tokverify.report.audit import Waiver


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(ReportOptions):
    """What the user asked for."""

    model: Path
    reference: str | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: str
    waivers: Path | None

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {
            "model": str(self.model),
            "reference": self.reference,
            "select": list(self.select),
            "ignore": list(self.ignore),
            "fail_on": self.fail_on.upper(),
            "waivers": None if self.waivers is None else str(self.waivers),
        }


def _codes(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists of codes, and check that each is the beginning of a code."""
    from tokverify.audit.rules import RULES

    prefixes = tuple(prefix.strip().upper() for value in values for prefix in value.split(",") if prefix.strip())
    for prefix in prefixes:
        if not any(code.startswith(prefix) for code in RULES):
            raise click.BadParameter(f"no rule's code begins with {prefix!r}; `--explain all` lists them")
    return prefixes


def _explain(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Print a manual and leave."""
    if value is None or ctx.resilient_parsing:
        return
    from tokverify.audit.rules import RULES
    from tokverify.render.audit.manual import write_manual, write_rule

    if value.lower() == "all":
        write_text(write_manual([rule.manual for rule in RULES.values()]))
    elif value.upper() in RULES:
        write_text(write_rule(RULES[value.upper()].manual))
    else:
        raise click.BadParameter(f"there is no rule {value!r}; there are {', '.join(RULES)}")
    ctx.exit()


@click.command(cls=ModelCommand)
@model_argument
@click.option(
    "-r",
    "--reference",
    metavar="LOCATION",
    help="Check against this reference too, as for `tokverify run`; without one only the file itself is checked.",
)
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Only these rules, such as TV101,TV2.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="Not these rules.")
@click.option(
    "--fail-on",
    type=click.Choice([severity.name.lower() for severity in reversed(Severity)], case_sensitive=False),
    default=Severity.ERROR.name.lower(),
    show_default=True,
    help="The least severity that makes the exit code 1.",
)
@click.option("--waivers", type=PATH, metavar="FILE", help="A YAML list of findings that are accepted, with reasons.")
@click.option(
    "--explain",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    metavar="CODE",
    help="Print what a rule does, why, and how to repair what it finds; `all` for all rules.",
)
@report_options(AUDIT_FORMATS, "All ids.")
def audit(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in AuditOptions
    """Check the tokenizer in the GGUF file MODEL by static rules.

    The exit code is 0 if nothing is found that is as bad as --fail-on, 1 if something is, and 2 if the file cannot be
    read. A file that llama.cpp refuses is still checked as far as possible.
    """
    return _audit(AuditOptions(**options))


def _audit(options: AuditOptions) -> int:
    check_reports(options, [options.model, options.reference, options.waivers])
    report = _run(options)
    write_reports(options, present(report))
    return audit_exit_code(report)


def _run(options: AuditOptions) -> AuditReport:
    from tokverify import __version__
    from tokverify.audit import audit as run
    from tokverify.audit.repair import with_remedies
    from tokverify.audit.subject import Subject
    from tokverify.files.gguf.declaration import read_declaration
    from tokverify.references import open_reference

    rules = _selected(options)
    waivers = _waivers(options)
    declaration = read_declaration(options.model)
    found = None
    if options.reference is not None:
        found = open_reference(options.reference, spec=declaration.spec, model=options.model)
    subject = Subject(declaration, found, options.model.stem)
    report = run(subject, rules, waivers)
    report = replace(
        report,
        source=str(options.model),
        fail_on=Severity[options.fail_on.upper()],
        fingerprint=subject.fingerprint,
        reference=found.source if found else None,
        reference_sha256=found.sha256 if found else None,
        caveat=found.caveat if found else "",
        options=options.told(),
        versions={"tokverify": __version__, **(found.versions if found else {})},
    )
    return with_remedies(report)


def _selected(options: AuditOptions) -> list[Rule]:
    from tokverify.audit.rules import RULES

    rules = [
        rule
        for code, rule in RULES.items()
        if code.startswith(options.select or ("",)) and not (options.ignore and code.startswith(options.ignore))
    ]
    if not rules:
        raise TokverifyError("no rule selected: --ignore leaves none of those that --select names; drop one")
    return rules


def _waivers(options: AuditOptions) -> list[Waiver]:
    if options.waivers is None:
        return []
    from tokverify.audit.rules import RULES
    from tokverify.audit.waiver import read_waivers

    return read_waivers(options.waivers, RULES)
