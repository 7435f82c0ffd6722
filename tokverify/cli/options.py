"""Arguments and options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tokverify.cli.output import STDOUT, ReportFile

if TYPE_CHECKING:
    import os

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}

_Command = TypeVar("_Command", bound="Callable[..., object]")


class FilePath(click.Path):
    """A path that must not be empty, since Python treats the empty path as the current directory."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Reject an empty name.

        Raises:
            UsageError: If the name is empty.
        """
        if value == "":
            self.fail("the name is empty; name a file or a directory", param, ctx)
        return super().convert(value, param, ctx)


class _GgufPath(FilePath):
    """The path of a GGUF file to write."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Reject a name that promises another kind of file.

        Raises:
            UsageError: If the name is empty, or ends like that of a report or a tokenizer.json.
        """
        from tokverify.render.kinds import SUFFIXES

        suffix = Path(value).suffix
        if suffix.lower() in SUFFIXES:
            self.fail(f"{Path(value)} will be a GGUF file; end its name in .gguf instead of {suffix}", param, ctx)
        return super().convert(value, param, ctx)


class _Location(FilePath):
    """The path of a model, or the location of a tokenizer that is not a file."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Keep a location such as the address of a server as it is, since a path would drop one of its slashes.

        Raises:
            UsageError: If the name is empty.
        """
        from tokverify.references import is_location

        return value if isinstance(value, str) and is_location(value) else super().convert(value, param, ctx)


class _Model(_Location):
    """The path or location of a model, or the name of a configured one."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Replace the name of a configured model, unless there is such a file, by the path of the model.

        Raises:
            TokverifyError: If the configuration is not valid.
        """
        from tokverify.cli.configured import find_configured

        path = super().convert(value, param, ctx)
        if (
            isinstance(path, str)
            or Path(value).name != str(value)
            or Path(value).exists()
            or (ctx and ctx.resilient_parsing)
        ):
            return path
        configured = find_configured(Path(value), allow_outside=True)
        if configured and not (ctx and any(option.name == "allow_outside" for option in ctx.command.params)):
            # A command with that option checks this itself, once it knows all options.
            configured = find_configured(Path(value))
        return configured.model if configured else path


class ModelCommand(click.Command):
    """A command on one model, which explains how to name the reference if a second file follows."""

    # The method below rejects extra arguments with a better message.
    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            UsageError: Also if there are extra arguments.
        """
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            ctx.fail(f"only one MODEL is allowed, but {left[0]!r} follows; name a reference with -r")
        return left


class TextCommand(click.Command):
    """A command on a text, which may begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            UsageError: Also if a text begins with a dash; the message then says how to write it.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = "if this is the text, write -- before it"
            raise click.UsageError(f"{error.format_message()} ({hint})", ctx) from None


PATH = FilePath(path_type=Path)
GGUF_PATH = _GgufPath(path_type=Path)
LOCATION = _Location(path_type=Path)
MODEL = _Model(path_type=Path)

model_argument = click.argument("model", type=MODEL)


def models_argument(*, required: bool) -> Callable[[_Command], _Command]:
    """Build the argument for several models; a command looks up their settings itself."""
    metavar = "MODEL..." if required else "[MODEL]..."
    return click.argument(
        "models", type=LOCATION, nargs=-1, required=required, metavar=metavar, callback=_reject_references
    )


def _reject_references(ctx: click.Context, _param: object, models: tuple[Path | str, ...]) -> tuple[Path | str, ...]:
    """Explain how to name the reference if a tokenizer of another format follows a model."""
    for model in models[1:]:
        if Path(model).suffix in {".json", ".model", ".tiktoken"}:
            ctx.fail(
                f"only one MODEL is allowed unless all are GGUF files, but {str(model)!r} follows;"
                " name a reference with -r"
            )
    return models


configured_model_argument = click.argument("model", type=PATH)
"""For commands that look up the settings of the model themselves."""
SEED_HELP = "The seed of generated texts: the same one generates the same texts."
seed_option = click.option("--seed", type=int, default=0, show_default=True, metavar="N", help=SEED_HELP)


def texts_option(default: int, help: str) -> Callable[[_Command], _Command]:
    """Add the option for the number of generated texts, for commands that generate them besides their main work."""
    return click.option(
        "--texts", "count", type=click.IntRange(0), default=default, show_default=True, metavar="N", help=help
    )


quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show only the verdict.")
no_color_option = click.option("--no-color", is_flag=True, help="Disable color, like the variable NO_COLOR.")
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
file_option = click.option("--file", type=PATH, metavar="PATH", help="Read the input from a file.")
add_special_option = click.option(
    "--add-special/--no-add-special", help="Add BOS and EOS as the file declares (default: off)."
)
parse_special_option = click.option(
    "--parse-special/--no-parse-special", default=True, help="Recognize control tokens in the text (default: on)."
)


def reference_option(help: str) -> Callable[[_Command], _Command]:
    """Build the option that names a reference."""
    return click.option("-r", "--reference", metavar="LOCATION", help=help)


def json_lines_option(help: str) -> Callable[[_Command], _Command]:
    """Build the option that reads and writes JSON Lines."""
    return click.option("--jsonl", "json_lines", is_flag=True, help=help)


def report_options(formats: Iterable[str], verbose: str) -> Callable[[_Command], _Command]:
    """Build the options of a report.

    Args:
        formats: The formats to choose from.
        verbose: The help text of -v.
    """
    options = (
        click.option(
            "-f",
            "--format",
            "format_name",
            type=click.Choice(list(formats)),
            help="The format of the report (default: table).",
        ),
        click.option(
            "-o",
            "--output",
            type=PATH,
            metavar="FILE",
            help="Write the report to a file; a name such as x.json implies the format, `-` is stdout.",
        ),
        click.option(
            "--report",
            "reports",
            multiple=True,
            callback=_report_files(list(formats)),
            metavar="FORMAT=FILE",
            help="Also write the report to this file; `-` is stdout. Can be repeated.",
        ),
        quiet_option,
        click.option("-v", "--verbose", is_flag=True, help=verbose),
        no_color_option,
    )

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _report_files(formats: Sequence[str]) -> Callable[[object, object, Sequence[str]], tuple[ReportFile, ...]]:
    def parse(_ctx: object, _param: object, values: Sequence[str]) -> tuple[ReportFile, ...]:
        return tuple(parse_report_file(value, formats) for value in values)

    return parse


def parse_report_file(value: str, formats: Sequence[str]) -> ReportFile:
    """Parse `FORMAT=FILE`.

    Raises:
        BadParameter: If the format is unknown, or the file is missing.
    """
    name, _, file = value.partition("=")
    if name not in formats:
        raise click.BadParameter(
            f"{name!r} is not a format; write FORMAT=FILE, where FORMAT is one of {', '.join(formats)}"
        )
    if not file:
        raise click.BadParameter(f"{value!r} does not name a file; write {name}=FILE, or {name}=- for stdout")
    return ReportFile(name, None if Path(file) == STDOUT else Path(file))


def parse_seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Parse a duration such as 90, 60s, 5m or 1h into seconds.

    Raises:
        BadParameter: If it is not a duration.
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", value or "")
    if value is None or (match and float(match[1])):
        return float(match[1]) * _UNITS[match[2]] if match else None
    raise click.BadParameter(
        f"{value!r} is not a duration; write a number and a unit, such as 60s, 5m or 1h", ctx, param
    )
