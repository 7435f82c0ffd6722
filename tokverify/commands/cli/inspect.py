"""`tokverify inspect`: summarize the tokenizer of a file, list its tokens, or count the tokens of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic, iglob
from pathlib import Path
from typing import Any

import click

from tokverify.commands.cli.group import old_command
from tokverify.commands.cli.locations import PATH
from tokverify.commands.cli.options import is_default, json_flag, model_argument, reject_unused, report_options
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.progress import ProgressBar
from tokverify.commands.cli.stream import render_options, write_text
from tokverify.render.kinds import FORMATS, present
from tokverify.report.inspect import TokenList

_SHIPPED = "shipped"


@click.command()
@model_argument
@click.option(
    "--tokens",
    "selection",
    metavar="RANGE|PATTERN",
    help="List tokens by id, such as 5,107-137, or by a pattern of their stored text, such as '*_of_*'.",
)
@click.option(
    "-r",
    "--reference",
    "others",
    multiple=True,
    metavar="LOCATION",
    help="The reference whose numbers of tokens to show as well, as for `tokverify run`. Can be repeated.",
)
@click.option(
    "--texts",
    "files",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="Show how many tokens the text in this file needs, or in those that match a pattern; or `shipped` for samples"
    " of many kinds. Can be repeated.",
)
@report_options(FORMATS["stats"])
@json_flag
def inspect(*, selection: str | None, **options: Any) -> int | None:  # noqa: ANN401 - the others are in StatsOptions
    """Show MODEL's sizes, token types, special tokens and settings.

    MODEL is a GGUF file, a tokenizer.json, a sentencepiece .model or a tiktoken file, as FILE.tiktoken:PATTERN.
    The settings are the effective ones. If a GGUF file cannot be loaded, what it declares is shown, with the reason.

    With --texts or -r, it is measured instead how many tokens MODEL and the references need for texts: your own, or
    samples that come with tokverify, in ten human and six programming languages, numbers, and white space. The suffix
    of a file determines its programming language, and the letters in each line determine its script.
    """
    if options["files"] or options["others"]:
        reject_unused("--texts and -r", {"model", "files", "others"})
        return _measure(options)
    for name in ("output", "reports", "quiet"):
        if not is_default(name):
            raise click.UsageError(f"--{'report' if name == 'reports' else name} needs --texts")
    _show(selection, **options)
    return None


def _show(
    selection: str | None,
    *,
    model: Path | str,
    format_name: str | None,
    verbose: bool,
    no_color: bool,
    **_unused: object,
) -> None:
    from tokverify.commands.tasks.inspect import inspect_model, list_tokens

    if format_name not in {None, "table", "json"}:
        raise click.UsageError(f"-f {format_name} needs --texts; choose table or json")
    shown = inspect_model(model) if selection is None else list_tokens(model, selection)
    if format_name == "json":
        from tokverify.report.codec import encode

        write_text(encode(shown))
        return
    from tokverify.render.inspect import render, render_tokens

    options = render_options(no_color=no_color, verbose=verbose)
    write_text(render_tokens(shown, options) if isinstance(shown, TokenList) else render(shown, options))


def _measure(options: dict[str, Any]) -> int:
    named = [file for file in options["files"] if str(file) != _SHIPPED]
    if named and len(named) < len(options["files"]):
        raise click.UsageError(f"--texts: use either `{_SHIPPED}` or your own files")
    files = tuple(path for file in named for path in _expand(file))
    return measure_texts(StatsOptions(**{**options, "model": str(options["model"]), "files": files}))


def _expand(file: Path) -> Sequence[Path]:
    """Return the files that a pattern matches, in order; any other path stands for itself."""
    if file.exists() or not has_magic(str(file)):
        return [file]
    found = sorted(filter(Path.is_file, map(Path, iglob(str(file), recursive=True))))  # noqa: PTH207 - may be absolute
    if not found:
        raise click.UsageError(f"--texts: no file matches {file}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(ReportOptions):
    """The options of the command."""

    model: str
    others: tuple[str, ...]
    files: tuple[Path, ...]


@old_command("inspect MODEL --texts FILE")
@click.command()
@click.argument("model")
@click.argument("files", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option(
    "-m",
    "--model",
    "others",
    multiple=True,
    metavar="OTHER",
    help="Another tokenizer to compare with. Can be repeated.",
)
@report_options(FORMATS["stats"])
def stats(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in StatsOptions
    """Measure how many tokens MODEL needs for texts.

    MODEL and OTHER are GGUF files, or anything that `tokverify run -r` accepts.

    The texts are the FILEs, or else samples that come with tokverify: one text in ten languages, one program in six
    languages, numbers, and white space. The suffix of a FILE determines its programming language, and the letters in
    each line determine its script. How numbers, indentation and the end of a prompt are encoded is always shown.

    The exit code is 0, or 1 if a tokenizer cannot encode one of the texts.
    """
    return measure_texts(StatsOptions(**options))


def measure_texts(options: StatsOptions) -> int:
    """Count the tokens of texts, write the reports, and return the exit code."""
    from tokverify.commands.tasks.stats import measure_tokenizers

    check_reports(options, FORMATS["stats"], [options.model, *options.others, *options.files])
    with ProgressBar(enabled=bool(options.files), what="bytes") as progress:
        report = measure_tokenizers(
            [options.model, *options.others],
            options.files,
            options=options.as_recorded(),
            on_progress=progress.update,
        )
    return write_reports(options, present("stats", report))
