"""`tokverify convert`: convert a tokenizer file into another format, or reconstruct one, and verify the result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokverify.case import SuiteSource
from tokverify.commands.cli.case_options import cases_option
from tokverify.commands.cli.group import old_command
from tokverify.commands.cli.locations import GGUF_PATH, PATH
from tokverify.commands.cli.options import (
    force_option,
    ids_only_option,
    is_default,
    output_option,
    reference_option,
    reject_unused,
    seed_option,
    side_report_options,
    texts_option,
    vocabulary_option,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import argument, narrow, option, takes
from tokverify.commands.cli.progress import ProgressBar, StatusLine
from tokverify.render.kinds import present

if TYPE_CHECKING:
    from tokverify.report.convert import Conversion
    from tokverify.report.learn import Learning

_STRINGS = 2000
"""The default number of generated texts."""
_LEARNED_TEXTS = 1000
"""The same for a tokenizer that is reconstructed."""


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(ReportOptions):
    """The options of the command."""

    source: Path | None = argument(type=PATH, required=False, metavar="[IN]")
    reference: str | None = reference_option("to learn the tokenizer of, instead of reading IN")
    vocabulary: Path | None = vocabulary_option()
    ids_only: bool = ids_only_option()
    target: Path = output_option("the converted tokenizer; the suffix determines its format.", required=True)
    force: bool = force_option()
    unexplained: bool = option(
        "--unexplained", is_flag=True, help="Write the result even if it differs from IN for an unknown reason."
    )
    strict: bool = option(
        "--strict",
        is_flag=True,
        help="Do not write the result if anything differs, even if all differences are explained.",
    )
    bos: str | None = option(
        "--bos-token", metavar="TOKEN", help="Declare this token, given by its text or id, as BOS."
    )
    eos: str | None = option("--eos-token", metavar="TOKEN", help="Declare this token as EOS.")
    add_bos: bool | None = option(
        "--add-bos/--no-add-bos", default=None, help="Declare whether BOS is added before a text."
    )
    add_eos: bool | None = option(
        "--add-eos/--no-add-eos", default=None, help="Declare whether EOS is added after a text."
    )
    count: int = texts_option(default=_STRINGS)
    seed: int = seed_option()
    cases: tuple[SuiteSource, ...] = cases_option()
    with_config: bool = option(
        "--with-config", is_flag=True, help="Also write the tokenizer_config.json of a tokenizer.json."
    )


@dataclass(frozen=True, kw_only=True)
class LearnOptions(ReportOptions):
    """The options of `tokverify learn`."""

    reference: str = reference_option("to learn", required=True)
    target: Path = output_option("the GGUF file.", GGUF_PATH, required=True)
    vocabulary: Path | None = vocabulary_option()
    ids_only: bool = ids_only_option()
    force: bool = force_option()
    count: int = texts_option(default=_LEARNED_TEXTS)
    seed: int = seed_option()


@click.command()
@takes(ConvertOptions)
@side_report_options()
def convert(options: ConvertOptions) -> int:
    """Convert a tokenizer file into another format, and verify it.

    IN is a tokenizer.json, a sentencepiece .model, a .tiktoken with its pattern (FILE.tiktoken:cl100k_base), or a GGUF
    file. The suffix of FILE determines the format of the result: .gguf or .json.

    Before the result is written, it is verified against IN with the shipped cases and with generated texts. What its
    format cannot express is listed, and limits of llama.cpp, with the number of differences that each explains. If they
    explain all differences, the result is written with a warning. The exit code is 0 if the result was written, 1 if it
    differs from IN and was not written, and 2 if the command could not run.

    With -r instead of IN, the tokenizer is reconstructed from what a reference answers, such as a server, and written
    as a GGUF file. A reference that declares its tokenizer is read; any other is asked for the ids of a few thousand
    texts. Ids show only the effects of merges and scores, so these are written in the order that trainers usually
    produce. The file is written even if some of the generated texts (1000 by default) have other ids; then the exit
    code is 1.
    """
    if options.reference is not None:
        return _learn(options)
    if options.source is None:
        raise click.UsageError("name the tokenizer file IN, or with -r a reference to learn")
    for name, option_name in (("vocabulary", "--vocab"), ("ids_only", "--ids-only")):
        if not is_default(name):
            raise click.UsageError(f"{option_name} needs -r")
    if options.unexplained and options.strict:
        raise click.UsageError("use either --unexplained, which writes the result even if it differs, or --strict")
    check_reports(options, [options.source], [options.target])
    return write_reports(options, present("convert", _convert(options, options.source)))


def _learn(options: ConvertOptions) -> int:
    reject_unused("-r", {"target", "reference", "vocabulary", "ids_only", "force", "count", "seed"})
    if options.target.suffix.lower() == ".json":
        raise click.UsageError(f"{options.target} will be a GGUF file; end its name in .gguf instead of .json")
    if is_default("count"):
        options = replace(options, count=_LEARNED_TEXTS)
    return learn_reference(narrow(LearnOptions, vars(options)))


def _convert(options: ConvertOptions, source: Path) -> Conversion:
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.convert import convert_tokenizer
    from tokverify.compare.convert.special_tokens import SpecialTokens

    with ProgressBar(enabled=not options.quiet) as bar:
        return convert_tokenizer(
            source,
            options.target,
            select_cases(options.cases),
            force=options.force,
            unexplained=options.unexplained,
            strict=options.strict,
            count=options.count,
            seed=options.seed,
            with_config=options.with_config,
            special_tokens=SpecialTokens(
                bos=options.bos, eos=options.eos, add_bos=options.add_bos, add_eos=options.add_eos
            ),
            on_progress=bar.update,
        )


@old_command("convert -r REF -o OUT")
@click.command()
@takes(LearnOptions)
@side_report_options()
def learn(options: LearnOptions) -> int:
    """Reconstruct the tokenizer of a reference as a GGUF file.

    A reference that declares its tokenizer is read. Any other is asked for the ids of a few thousand texts, which
    reveal the types of its tokens, its special tokens, its pre-tokenizer and its normalizer. Ids show only the effects
    of merges and scores, so these are written in the order that trainers usually produce.

    The result is verified on generated texts. The exit code is 0 if all of them have the same ids, 1 if some differ,
    and 2 if the command could not run.
    """
    return learn_reference(options)


def learn_reference(options: LearnOptions) -> int:
    """Reconstruct a tokenizer, write the reports, and return the exit code."""
    check_reports(options, [options.reference, options.vocabulary], [options.target])
    return write_reports(options, present("learn", _reconstruct(options)))


def _reconstruct(options: LearnOptions) -> Learning:
    from tokverify.commands.tasks.learn import learn_tokenizer

    with StatusLine(enabled=not options.quiet) as line:
        return learn_tokenizer(
            options.reference,
            options.target,
            vocabulary=options.vocabulary,
            ids_only=options.ids_only,
            force=options.force,
            count=options.count,
            seed=options.seed,
            on_progress=line.show,
        )
