"""`tokverify inspect`: summarize the tokenizer of a file, list its tokens, or count the tokens of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from glob import has_magic, iglob
from pathlib import Path

import click

from tokverify.commands.cli.group import old_command
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import is_default, model_argument, old_json_option, reject_unused, report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import argument, named, option, takes
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.stream import render_options, write_text
from tokverify.render.kinds import present
from tokverify.report.inspect import TokenList

_SHIPPED = "shipped"


@dataclass(frozen=True, kw_only=True)
class StatsOptions(ReportOptions):
    """The options that concern the tokens of texts."""

    model: Path | str = model_argument()
    others: tuple[str, ...] = option(
        "-r",
        "--reference",
        multiple=True,
        metavar="LOCATION",
        help="The reference whose numbers of tokens to show as well, as for `tokverify run`. Can be repeated.",
    )
    files: tuple[Path, ...] = option(
        "--texts",
        multiple=True,
        type=PATH,
        metavar="FILE",
        help="Show how many tokens the text in this file needs, or in those that match a pattern; or `shipped` for"
        " samples of many kinds. Can be repeated.",
    )


@dataclass(frozen=True, kw_only=True)
class InspectOptions(StatsOptions):
    """The options of the command."""

    selection: str | None = option(
        "--tokens",
        metavar="RANGE|PATTERN",
        recorded=False,
        help="List tokens by id, such as 5,107-137, or by a pattern of their stored text, such as '*_of_*'.",
    )


@click.command()
@takes(InspectOptions)
@named(format_name=old_json_option())
@report_options()
def inspect(options: InspectOptions) -> int | None:
    """Show MODEL's sizes, token types, special tokens and settings.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.
    The settings are the effective ones. If a GGUF file cannot be loaded, what it declares is shown, with the reason.

    With --texts or -r, it shows instead how many tokens MODEL and the references need for texts: your own, or
    samples that come with tokverify, in ten human and six programming languages, numbers, and white space. The suffix
    of a file determines its programming language, and the letters in each line determine its script.
    """
    if options.files or options.others:
        reject_unused("--texts and -r", {"model", "files", "others"})
        return _measure(options)
    for name in ("output", "reports", "quiet"):
        if not is_default(name):
            raise click.UsageError(f"--{'report' if name == 'reports' else name} needs --texts")
    _show(options)
    return None


def _show(options: InspectOptions) -> None:
    from tokverify.commands.tasks.inspect import inspect_model, list_tokens

    selection = options.selection
    if options.format_name not in {None, "table", "json"}:
        raise click.UsageError(f"-f {options.format_name} needs --texts; choose table or json")
    shown = inspect_model(options.model) if selection is None else list_tokens(options.model, selection)
    if options.format_name == "json":
        from tokverify.report.codec import encode

        write_text(encode(shown))
        return
    from tokverify.render.inspect import render, render_tokens

    how = render_options(no_color=options.no_color, verbose=options.verbose)
    write_text(render_tokens(shown, how) if isinstance(shown, TokenList) else render(shown, how))


def _measure(options: StatsOptions) -> int:
    own = [file for file in options.files if str(file) != _SHIPPED]
    if own and len(own) < len(options.files):
        raise click.UsageError(f"--texts: use either `{_SHIPPED}` or your own files")
    return measure_texts(replace(options, files=tuple(path for file in own for path in _expand(file))))


def _expand(file: Path) -> Sequence[Path]:
    """Return the files that a pattern matches, in order; any other path stands for itself."""
    if file.exists() or not has_magic(str(file)):
        return [file]
    found = sorted(filter(Path.is_file, map(Path, iglob(str(file), recursive=True))))  # noqa: PTH207 - may be absolute
    if not found:
        raise click.UsageError(f"--texts: no file matches {file}")
    return found


@dataclass(frozen=True, kw_only=True)
class OldStatsOptions(StatsOptions):
    """The options of `tokverify stats`."""

    model: Path | str = argument()
    files: tuple[Path, ...] = argument(nargs=-1, type=PATH, metavar="[FILE]...")
    others: tuple[str, ...] = option(
        "-m", "--model", multiple=True, metavar="OTHER", help="Another tokenizer to compare with. Can be repeated."
    )


@old_command("inspect MODEL --texts FILE")
@click.command()
@takes(OldStatsOptions)
@report_options()
def stats(options: OldStatsOptions) -> int:
    """Measure how many tokens MODEL needs for texts.

    MODEL and OTHER are GGUF files, or anything that `tokverify run -r` accepts.

    The texts are the FILEs, or else samples that come with tokverify: one text in ten languages, one program in six
    languages, numbers, and white space. The suffix of a FILE determines its programming language, and the letters in
    each line determine its script. How numbers, indentation and the end of a prompt are encoded is always shown.

    The exit code is 0, or 1 if a tokenizer cannot encode one of the texts.
    """
    return measure_texts(options)


def measure_texts(options: StatsOptions) -> int:
    """Count the tokens of texts, write the reports, and return the exit code."""
    from tokverify.commands.tasks.stats import measure_tokenizers

    check_reports(options, [options.model, *options.others, *options.files])
    with ProgressBar(enabled=bool(options.files), what="bytes") as progress:
        report = measure_tokenizers(
            [str(options.model), *options.others],
            options.files,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("stats", report))
