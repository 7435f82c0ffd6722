"""Arguments and options shared by several commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from tokverify.commands.cli.locations import LOCATION, MODEL, PATH, FilePath
from tokverify.commands.cli.output import OF_REPORTS, STDOUT, ReportFile
from tokverify.commands.cli.parameters import Declared, argument, either, named, option
from tokverify.commands.project.configuration_file import OPTION
from tokverify.render.kinds import FORMAT_NAMES

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}

_Command = TypeVar("_Command", bound="Callable[..., object]")


class ModelCommand(click.Command):
    """A command on one model, which explains how to name the reference if a second file follows.

    `sections` maps headings of the help to the names of the parameters that are listed below them, after the others.
    """

    # `parse_args` rejects extra arguments with a better message.
    allow_extra_args = True

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's
        sections: Mapping[str, Collection[str]] | None = None,
        **kwargs: Any,  # noqa: ANN401 - click's
    ) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options by section."""
        rows: dict[str, list[tuple[str, str]]] = {"Options": [], **{heading: [] for heading in self._sections}}
        for parameter in self.get_params(ctx):
            headings = (heading for heading, names in self._sections.items() if parameter.name in names)
            if record := parameter.get_help_record(ctx):
                rows[next(headings, "Options")].append(record)
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and reject extra ones."""
        left = super().parse_args(ctx, args)
        if left and not ctx.resilient_parsing:
            ctx.fail(f"only one MODEL is allowed, but {left[0]!r} follows; name a reference with -r")
        return left


class TextCommand(click.Command):
    """A command on a text, which may begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; if a text begins with a dash, say how to write it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = "if this is the text, write -- before it"
            raise click.UsageError(f"{error.format_message()} ({hint})", ctx) from None


model_argument = partial(argument, type=MODEL)


def models_argument(*, required: bool, recorded: bool = True) -> Declared:
    """Declare the argument for several models; a command looks up their settings itself."""
    metavar = "MODEL..." if required else "[MODEL]..."
    return argument(
        type=LOCATION, nargs=-1, required=required, metavar=metavar, callback=_reject_references, recorded=recorded
    )


def _reject_references(ctx: click.Context, _param: object, models: tuple[Path | str, ...]) -> tuple[Path | str, ...]:
    """Explain how to name the reference if a tokenizer of another format follows a model, and cases if a suite does."""
    takes_cases = any(parameter.name == "cases" for parameter in ctx.command.params)
    for model in models if takes_cases else ():
        if isinstance(model, Path) and model.suffix.lower() in {".yaml", ".yml"} and model.is_file():
            ctx.fail(f"{model} is a suite of cases and not a MODEL; name it with --cases, after a MODEL")
    for model in models[1:]:
        if Path(model).suffix in {".json", ".model", ".tiktoken", ".txt"}:
            ctx.fail(
                f"only one MODEL is allowed unless all are GGUF files, but {str(model)!r} follows;"
                " name a reference with -r"
            )
    return models


def _reject_swapped(ctx: click.Context, _param: object, text: str | None) -> str | None:
    """Say so if TEXT and MODEL are swapped, because an existing model makes a text that nobody encodes."""
    model = str(ctx.params.get("model", ""))
    if text and text.lower().endswith(".gguf") and Path(text).is_file() and not Path(model).exists():
        ctx.fail(f"MODEL comes before TEXT, and {text!r} looks like a MODEL; swap the two")
    return text


text_argument = partial(argument, required=False, callback=_reject_swapped)
seed_option = partial(
    option,
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="The seed of generated texts: the same one generates the same texts.",
)
vocabulary_option = partial(
    option,
    "--vocab",
    type=PATH,
    metavar="FILE",
    help="A tokenizer file with the stored strings of the same tokens, which a server does not expose.",
)
ids_only_option = partial(
    option, "--ids-only", is_flag=True, help="Use nothing that the reference declares about itself."
)
quiet_option = partial(option, "-q", "--quiet", is_flag=True, help="Show only the verdict, and why a report fails.")
verbose_option = partial(option, "-v", "--verbose", is_flag=True, help="Show everything; fold nothing.")
force_option = partial(option, "--force", is_flag=True, help="Overwrite existing files.")
no_color_option = partial(option, "--no-color", is_flag=True, help="Disable color, like the variable NO_COLOR.")
json_lines_option = partial(
    option, "--jsonl", is_flag=True, help="Read JSON Lines, and write a JSON object for each line."
)
file_option = partial(option, "--file", type=PATH, metavar="PATH", help="Read the input from a file.")
add_special_option = partial(
    option, "--add-special/--no-add-special", help="Add BOS and EOS as the file declares (default: off)."
)
parse_special_option = partial(
    option,
    "--parse-special/--no-parse-special",
    default=True,
    help="Recognize control tokens in the text (default: on).",
)
stop_at_eos_option = partial(
    option, "--stop-at-eos", is_flag=True, help="Stop before the first token that ends a generation, such as EOS."
)
diagnose_option = partial(
    option, "--diagnose/--no-diagnose", default=True, help="Search for the cause of failures (default)."
)
thorough_option = partial(
    option, "--thorough", is_flag=True, help="Let each diagnosis try twenty times as much before it gives up."
)
resume_option = partial(
    option,
    "--resume/--no-resume",
    default=True,
    help="When streaming, also resume decoding after each id (default).",
)
allow_outside_option = partial(
    option, OPTION, is_flag=True, help="Let the configuration name files outside of its repository."
)
old_json_option = partial(option, "--json", flag_value="json", hidden=True, help="Like -f json.")
"""The name that `-f json` had in the previous version."""
examples_option = partial(
    option,
    "--examples",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="Show N sequences for each cause.",
)
texts_option = partial(
    option,
    "--texts",
    type=click.IntRange(0),
    show_default=True,
    metavar="N",
    help="Compare N generated texts, then stop.",
)


def is_default(parameter: str) -> bool:
    """Whether the command line of the current command does not mention a parameter."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is not click.core.ParameterSource.COMMANDLINE


def reject_unused(form: str, used: Collection[str]) -> None:
    """Fail if the command line mentions an option that has no effect in a form of the command, as it is not in `used`.

    Raises:
        UsageError: If it does; the message names `form`, the option that asks for the form.
    """
    for parameter in click.get_current_context().command.params:
        name = parameter.name or ""
        if name not in used and name not in OF_REPORTS and not is_default(name):
            raise click.UsageError(f"{name_parameter(parameter)} has no effect with {form}; remove one of them")


def name_parameter(parameter: click.Parameter) -> str:
    """Return what users call a parameter: an argument in capitals, or an option, with its opposite if there is one."""
    if isinstance(parameter, click.Option):
        return "/".join([max(parameter.opts, key=len), *parameter.secondary_opts])
    return str(parameter.metavar or parameter.name).strip("[]").upper()


def reference_option(role: str, note: str = "", *, required: bool = False) -> Declared:
    """Declare the option that names a reference; the help says what it is used for, its `role`, and adds a note."""
    help = f"The reference {role}, as for `tokverify run`{note}."
    return option("-r", "--reference", metavar="LOCATION", required=required, help=help)


def jobs_option(default: int | None) -> Declared:
    """Declare the option for the number of processes; None is one for each processor."""
    return option(
        "-j",
        "--jobs",
        type=click.IntRange(1),
        default=default,
        show_default="one for each processor" if default is None else True,
        metavar="N",
        recorded=False,
        help="Use N processes.",
    )


def output_option(result: str, kind: FilePath = PATH, *, metavar: str = "FILE", required: bool = False) -> Declared:
    """Declare the option that says where the result of a command goes: a file, or a directory if `metavar` is DIR."""
    help = f"Write the result to this {'directory' if metavar == 'DIR' else 'file'}: {result}"
    return option("-o", "--output", type=kind, metavar=metavar, required=required, help=help)


def format_option(formats: Iterable[str]) -> Declared:
    """Declare the option that chooses the format of the report."""
    help = "The format of the output (default: table)."
    return option("-f", "--format", type=click.Choice(list(formats)), help=help)


def json_option() -> Declared:
    """Declare the option that chooses JSON for a command that writes no other format for programs."""
    return either(format_option(("table", "json")), old_json_option())


def report_options() -> Callable[[_Command], _Command]:
    """Add the parameters in `ReportOptions` to a command."""
    output = output_option("the report; a name such as x.json implies the format, `-` is stdout.")
    return named(format_name=format_option(FORMAT_NAMES), output=output, **_further_report_options())


def side_report_options() -> Callable[[_Command], _Command]:
    """Add the parameters in `ReportOptions` to a command whose result is another file, which -o names."""
    return named(format_name=format_option(FORMAT_NAMES), **_further_report_options())


def _further_report_options() -> Mapping[str, Declared]:
    reports = option(
        "--report",
        multiple=True,
        callback=lambda _ctx, _param, values: tuple(map(parse_report_file, values)),
        metavar="FORMAT=FILE",
        help="Also write the report to this file; `-` is stdout. Can be repeated.",
    )
    return {"reports": reports, "quiet": quiet_option(), "verbose": verbose_option(), "no_color": no_color_option()}


def parse_report_file(value: str) -> ReportFile:
    """Parse `FORMAT=FILE`; raise BadParameter if the format is unknown, or the file is missing."""
    name, _, file = value.partition("=")
    if name not in FORMAT_NAMES:
        raise click.BadParameter(
            f"{name!r} is not a format; write FORMAT=FILE, where FORMAT is one of {', '.join(FORMAT_NAMES)}"
        )
    if not file:
        raise click.BadParameter(f"{value!r} does not name a file; write {name}=FILE, or {name}=- for stdout")
    return ReportFile(name, None if Path(file) == STDOUT else Path(file))


def parse_seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Parse a duration such as 90, 60s, 5m or 1h into seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh]?)", value or "")
    if value is None or (match and float(match[1])):
        return float(match[1]) * _UNITS[match[2]] if match else None
    raise click.BadParameter(
        f"{value!r} is not a duration; write a number and a unit, such as 60s, 5m or 1h", ctx, param
    )
