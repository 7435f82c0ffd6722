"""`tokverify cases`: list cases, check suites, and record expectations in them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import SUITES, selection_options
from tokverify.commands.cli.options import json_option, no_color_option, verbose_option
from tokverify.commands.cli.record import record
from tokverify.commands.cli.stream import render_options, write_text
from tokverify.text.visible import visible_message


@click.group()
def cases() -> None:
    """List cases, check suites, or record what they expect."""


@cases.command("list")
@click.argument("paths", nargs=-1, type=SUITES)
@selection_options
@json_option
@verbose_option
@no_color_option
def list_(  # noqa: PLR0913 - one parameter for each option
    *,
    paths: Sequence[SuiteSource],
    suites: Sequence[str],
    tags: Sequence[str],
    patterns: Sequence[str],
    as_json: bool,
    verbose: bool,
    no_color: bool,
) -> None:
    """List the cases in suites.

    PATHS are suites or directories of suites; by default the `shipped` ones, which come with tokverify.
    """
    from tokverify.commands.tasks.cases import select_cases

    selected = select_cases(paths, suites, tags, patterns)
    if as_json:
        write_text(json.dumps([asdict(case) for case in selected], indent=2) + "\n")
        return
    from tokverify.render.listing import list_cases

    write_text(list_cases(selected, render_options(no_color=no_color, verbose=verbose)))


@cases.command()
@click.argument("paths", nargs=-1, type=SUITES)
def check(*, paths: Sequence[SuiteSource]) -> None:
    """Check suites for mistakes.

    PATHS are suites or directories of suites; by default the `shipped` ones, which come with tokverify. Mistakes are
    reported as errors, with file and line. Anything that is allowed but probably unintended is reported as a hint.
    """
    from tokverify.cases.loading import load_suites
    from tokverify.text.wording import plural

    suites = load_suites(paths or None)
    for suite in suites:
        for hint in suite.hints:
            write_text(f"hint: {visible_message(hint)}\n")
    count = sum(len(suite.cases) for suite in suites)
    write_text(f"{plural(count, 'case')} in {plural(len(suites), 'suite')}: no errors\n")


cases.add_command(record)
