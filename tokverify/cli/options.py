"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tokverify.cases import Case

_Command = TypeVar("_Command", bound="Callable[..., object]")

PATH = click.Path(path_type=Path)

model_argument = click.argument("model", type=PATH)
no_color_option = click.option("--no-color", is_flag=True, help="No color; the variable NO_COLOR does the same.")
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
file_option = click.option("--file", type=PATH, metavar="PATH", help="Read from this file.")


def report_options(formats: Iterable[str], verbose: str) -> Callable[[_Command], _Command]:
    """Return what adds the options of a report: `formats` to choose from, `verbose` what -v adds to it."""
    options = (
        click.option(
            "-f",
            "--format",
            "format_name",
            type=click.Choice(list(formats)),
            help="How to write the report: for eyes (table, the default) or for programs.",
        ),
        click.option(
            "-o", "--output", type=PATH, metavar="FILE", help="Write the report there; *.json implies -f json."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Only the verdict."),
        click.option("-v", "--verbose", is_flag=True, help=verbose),
        no_color_option,
    )

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def selection_options(command: _Command) -> _Command:
    """Add the options that choose among cases."""
    for option in reversed(
        (
            click.option("--suite", "suites", multiple=True, metavar="NAME", help="Only cases of this suite."),
            click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag."),
            click.option(
                "-k",
                "patterns",
                multiple=True,
                metavar="PATTERN",
                help="Only cases whose id or suite/id matches, such as 'tab*'.",
            ),
        )
    ):
        command = option(command)
    return command


def selected_cases(
    paths: Sequence[Path], suites: Sequence[str], tags: Sequence[str], patterns: Sequence[str]
) -> list[Case]:
    """Read the suites at `paths`, or the shipped ones, and choose."""
    from tokverify.cases import load_cases, select

    return select(load_cases(paths or None), suites=suites, tags=tags, patterns=patterns)
