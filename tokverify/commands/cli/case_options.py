"""Options that select cases, and that say which failures count: shared by the commands that run cases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from tokverify.case import SHIPPED, Case, SuiteSource, is_shipped
from tokverify.commands.cli.locations import PATH, FilePath
from tokverify.commands.cli.output import ReportOptions
from tokverify.commands.cli.parameters import Declared, either, option
from tokverify.commands.cli.stream import write_text
from tokverify.commands.project.configuration import ACCEPTED
from tokverify.errors import TokverifyError
from tokverify.report.tokenizer_difference import NOT_COMPARED, SEVERITIES, parse_fail_on
from tokverify.system.output_file import check_writable


class _Suites(FilePath):
    """The location of suites: a path, or `shipped`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401
        """Keep `shipped` as it is; there must be no file of that name."""
        return SHIPPED if value == SHIPPED and is_shipped(value) else super().convert(value, param, ctx)


SUITES = _Suites(path_type=Path)
ASPECTS_HELP = "aspects such as decoding, not-compared to require that everything is compared"


def fail_on_option(what: str, others: str = "", *, default: str = "error") -> Declared:
    """Declare the option that says what fails besides failing cases: by default, `what` with the severity `default`.

    `others` is what else a list can name, for the help.
    """
    names = f"(error, warning, info), {others}, or none" if others else "(error, warning, info), or none"
    help = f"What fails: the lowest severity of {what} {names} (default: {default})."
    return option("--fail-on", multiple=True, callback=_parse_fail_on, metavar="LIST", help=help)


strict_option = partial(
    option,
    "--strict",
    is_flag=True,
    help="Also fail on what differs only by limits of llama.cpp, which are named.",
)

waivers_option = partial(option, "--waivers", type=PATH, metavar="FILE", hidden=True)
"""The old option for a second file of known differences."""


def _parse_codes(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split lists of codes, and check that each is the beginning of a rule's code."""
    if not values:
        return ()
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
    from tokverify.render.audit import write_manual, write_rule

    if value.lower() == "all":
        write_text(write_manual([rule.manual for rule in RULES.values()]))
    elif value.upper() in RULES:
        write_text(write_rule(RULES[value.upper()].manual))
    else:
        raise click.BadParameter(f"there is no rule {value!r}; the rules are {', '.join(RULES)}")
    ctx.exit()


select_option = partial(
    option,
    "--select",
    multiple=True,
    callback=_parse_codes,
    metavar="CODES",
    help="Apply only these rules, such as TV101,TV2.",
)
ignore_option = partial(
    option, "--ignore", multiple=True, callback=_parse_codes, metavar="CODES", help="Skip these rules."
)
explain_option = click.option(
    "--explain",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    metavar="CODE",
    help="Print what a rule checks, why, and how to repair its findings; `all` for all rules.",
)
"""It ends the command, and so has no field."""


def _parse_fail_on(_ctx: object, _param: object, values: Sequence[str]) -> tuple[str, ...] | None:
    try:
        return parse_fail_on(values) if values else None
    except TokverifyError as error:
        raise click.BadParameter(str(error)) from error


def reject_aspects(fail_on: Sequence[str] | None, allowed: Collection[str]) -> None:
    """Fail if a list after `--fail-on` names something that has no effect on findings, such as an aspect.

    Raises:
        BadParameter: If it does.
    """
    for name in fail_on or ():
        if name not in allowed:
            raise click.BadParameter(
                f"{name!r} has no effect on findings; name the lowest severity that fails ({', '.join(SEVERITIES)})"
                f"{', not-compared' if NOT_COMPARED in allowed else ''} or none",
                param_hint="'--fail-on'",
            )


cases_option = partial(
    option,
    "--cases",
    multiple=True,
    type=SUITES,
    metavar="PATH",
    help="The cases: a suite or a directory of suites, or `shipped` for those that come with tokverify (default).",
)
max_failures_option = partial(
    either,
    option("--maxfail", type=click.IntRange(1), metavar="N", help="Stop after N failing cases."),
    option("--fail-fast", flag_value=1, type=int, help="Stop after the first one, like --maxfail 1."),
)


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """The options of a command that selects cases."""

    suites: tuple[str, ...] = option("--suite", multiple=True, metavar="NAME", help="Select the cases of this suite.")
    tags: tuple[str, ...] = option("--tag", multiple=True, metavar="TAG", help="Select cases with this tag.")
    patterns: tuple[str, ...] = option(
        "-k",
        multiple=True,
        metavar="PATTERN",
        help="Select cases whose suite/id contains this, such as emoji, or matches a pattern, such as 'tab*'.",
    )

    def select_from(self, sources: Sequence[SuiteSource]) -> Sequence[Case]:
        """Load the selected cases of suites; of the shipped ones if there are none.

        Raises:
            TokverifyError: If a suite cannot be read, or no case is selected.
        """
        from tokverify.cases.loading import select_cases

        return select_cases(sources, self.suites, self.tags, self.patterns)


@dataclass(frozen=True, kw_only=True)
class CaseOptions(SelectionOptions):
    """The options of a command that runs cases."""

    cases: tuple[SuiteSource, ...] = cases_option()

    def load_cases(self) -> Sequence[Case]:
        """Load the selected cases, as `select_from` does."""
        return self.select_from(self.cases)


baseline_option = partial(
    option,
    "--baseline",
    type=PATH,
    metavar="FILE",
    help=f"Accept what this file lists (default: {ACCEPTED}, if there is one).",
)


@dataclass(frozen=True, kw_only=True)
class BaselineOptions(ReportOptions):
    """The options of a command that accepts known failures."""

    baseline: Path | None = baseline_option()
    update_baseline: bool = option(
        "--accept",
        "--update-baseline",
        is_flag=True,
        recorded=False,
        help="Rewrite that file to accept exactly what fails now.",
    )
    reason: str | None = option(
        "--reason", metavar="TEXT", recorded=False, help="The reason for the new entries that --accept adds."
    )


def check_baseline(options: BaselineOptions) -> None:
    """Check that the options for known failures fit together, and that the file can be written if necessary.

    Raises:
        UsageError: If an option requires another one.
        TokverifyError: As `check_writable` does.
    """
    if options.update_baseline and options.baseline is None:
        raise click.UsageError("--accept requires --baseline, which names the file to write")
    if options.reason is not None:
        _check_reason(options)
    if options.update_baseline and options.baseline:
        check_writable(options.baseline)


def _check_reason(options: BaselineOptions) -> None:
    reason = options.reason or ""
    if not options.update_baseline:
        raise click.UsageError("--reason requires --accept")
    if not reason.strip() or not reason.isprintable():
        raise click.UsageError("--reason must be a non-empty line without control characters")
