"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tokverify.cli.output import STDOUT, ReportFile

if TYPE_CHECKING:
    import os

    from tokverify.cases.case import Case, SuiteSource

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}

_Command = TypeVar("_Command", bound="Callable[..., object]")


class _FilePath(click.Path):
    """A Path, which must be named: Python takes the empty one for the current directory."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Refuse an empty name.

        Raises:
            UsageError: If it is one.
        """
        if value == "":
            self.fail("the name is empty; name a file or a directory", param, ctx)
        return super().convert(value, param, ctx)


class _Suites(_FilePath):
    """Where suites are: a Path, or the name of the shipped ones."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Leave the name of the shipped ones as it is.

        Raises:
            TokverifyError: If there is a file of that name, too.
        """
        from tokverify.cases.case import SHIPPED, is_shipped

        return SHIPPED if value == SHIPPED and is_shipped(value) else super().convert(value, param, ctx)


class ModelCommand(click.Command):
    """A command on one model: says how the reference is named if another file follows."""

    # What is left over is answered by the method below.
    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            UsageError: Also if there are more of them than the model.
        """
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            ctx.fail(f"only one MODEL can be given, and {left[0]!r} is one more; a reference is named with -r")
        return left


PATH = _FilePath(path_type=Path)
SUITES = _Suites(path_type=Path)

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
            help="How to write the report; table is the default.",
        ),
        click.option(
            "-o",
            "--output",
            type=PATH,
            metavar="FILE",
            help="Write the report there; a name such as x.json implies the format, `-` is stdout.",
        ),
        click.option(
            "--report",
            "reports",
            multiple=True,
            callback=_report_files(list(formats)),
            metavar="FORMAT=FILE",
            help="Write the report there too; `-` is stdout. Can be given several times.",
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


def _report_files(formats: Sequence[str]) -> Callable[[object, object, Sequence[str]], tuple[ReportFile, ...]]:
    def read(_ctx: object, _param: object, values: Sequence[str]) -> tuple[ReportFile, ...]:
        return tuple(report_file(value, formats) for value in values)

    return read


def report_file(value: str, formats: Sequence[str]) -> ReportFile:
    """Read `FORMAT=FILE`.

    Raises:
        BadParameter: If it is not that.
    """
    name, _, file = value.partition("=")
    if name not in formats:
        raise click.BadParameter(f"{name!r} is no format; write FORMAT=FILE, with a format of {', '.join(formats)}")
    if not file:
        raise click.BadParameter(f"{value!r} names no file; write {name}=FILE, or {name}=- for stdout")
    return ReportFile(name, None if Path(file) == STDOUT else Path(file))


def seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Read a time such as 90, 60s, 5m or 1h, in seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", value or "")
    if value is None or (match and float(match[1])):
        return float(match[1]) * _UNITS[match[2]] if match else None
    raise click.BadParameter(f"{value!r} is no time; give a number and a unit, such as 60s, 5m or 1h", ctx, param)


def cases_option(use: str) -> Callable[[_Command], _Command]:
    """Return what adds `--cases`; `use` says what suites are for."""
    told = f"{use}: a suite, or a directory of suites; `shipped`, the default, are those that come with tokverify."
    return click.option("--cases", multiple=True, type=SUITES, metavar="PATH", help=told)


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
    sources: Sequence[SuiteSource], suites: Sequence[str], tags: Sequence[str], patterns: Sequence[str]
) -> list[Case]:
    """Read the suites at `sources`, or the shipped ones, and choose."""
    from tokverify.cases.loading import load_cases
    from tokverify.cases.selection import select

    return select(load_cases(sources or None), suites=suites, tags=tags, patterns=patterns)
