"""`tokverify convert`: convert a tokenizer file into another format, or reconstruct one, and verify the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from tokverify.commands.cli.progress import ProgressBar, StatusLine
from tokverify.render.kinds import FORMATS, present

if TYPE_CHECKING:
    from tokverify.report.convert import Conversion
    from tokverify.report.learn import Learning

_STRINGS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions(ReportOptions):
    """The options of `tokverify convert`."""

    source: Path
    target: Path
    cases: Sequence[SuiteSource]
    force: bool
    unexplained: bool
    strict: bool
    bos: str | None
    eos: str | None
    add_bos: bool | None
    add_eos: bool | None
    count: int
    seed: int
    with_config: bool


@click.command()
@click.argument("source", type=PATH, required=False, metavar="[IN]")
@reference_option("to learn the tokenizer of, instead of reading IN", "")
@vocabulary_option
@ids_only_option
@output_option("the converted tokenizer; the suffix determines its format.", required=True)
@force_option
@click.option("--unexplained", is_flag=True, help="Write the result even if it differs from IN for an unknown reason.")
@click.option(
    "--strict", is_flag=True, help="Do not write the result if anything differs, even if all differences are explained."
)
@click.option("--bos-token", "bos", metavar="TOKEN", help="Declare this token, given by its text or id, as BOS.")
@click.option("--eos-token", "eos", metavar="TOKEN", help="Declare this token as EOS.")
@click.option("--add-bos/--no-add-bos", default=None, help="Declare whether BOS is added before a text.")
@click.option("--add-eos/--no-add-eos", default=None, help="Declare whether EOS is added after a text.")
@texts_option(_STRINGS)
@seed_option
@cases_option
@click.option("--with-config", is_flag=True, help="Also write the tokenizer_config.json of a tokenizer.json.")
@side_report_options(FORMATS["convert"])
def convert(*, output: Path, **options: Any) -> int:  # noqa: ANN401 - the others are those of ConvertOptions
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
    learning = {name: options.pop(name) for name in ("reference", "vocabulary", "ids_only")}
    if learning["reference"] is not None:
        return _learn(output, {**options, **learning})
    if options["source"] is None:
        raise click.UsageError("name the tokenizer file IN, or with -r a reference to learn")
    for name, option in (("vocabulary", "--vocab"), ("ids_only", "--ids-only")):
        if not is_default(name):
            raise click.UsageError(f"{option} needs -r")
    chosen = ConvertOptions(target=output, output=None, **options)
    if chosen.unexplained and chosen.strict:
        raise click.UsageError("use either --unexplained, which writes the result even if it differs, or --strict")
    check_reports(chosen, FORMATS["convert"], [chosen.source], [chosen.target])
    return write_reports(chosen, present("convert", _convert(chosen)))


def _learn(output: Path, options: dict[str, Any]) -> int:
    reject_unused("-r", {"output", "reference", "vocabulary", "ids_only", "force", "count", "seed"})
    if output.suffix.lower() == ".json":
        raise click.UsageError(f"{output} will be a GGUF file; end its name in .gguf instead of .json")
    if is_default("count"):
        options["count"] = _LEARNED_TEXTS
    named: dict[str, Any] = {each.name: options.get(each.name) for each in fields(LearnOptions)}
    return learn_reference(LearnOptions(**{**named, "target": output, "output": None}))


def _convert(options: ConvertOptions) -> Conversion:
    from tokverify.cases.loading import select_cases
    from tokverify.commands.tasks.convert import convert_tokenizer
    from tokverify.compare.convert.special_tokens import SpecialTokens

    with ProgressBar(enabled=not options.quiet) as bar:
        return convert_tokenizer(
            options.source,
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


_LEARNED_TEXTS = 1000
"""The default number of generated texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnOptions(ReportOptions):
    """The options of `tokverify learn`."""

    reference: str
    target: Path
    vocabulary: Path | None
    ids_only: bool
    force: bool
    count: int
    seed: int


@old_command("convert -r REF -o OUT")
@click.command()
@reference_option("to learn", required=True)
@output_option("the GGUF file.", GGUF_PATH, required=True)
@vocabulary_option
@ids_only_option
@force_option
@texts_option(_LEARNED_TEXTS)
@seed_option
@side_report_options(FORMATS["learn"])
def learn(*, output: Path, **options: Any) -> int:  # noqa: ANN401 - the others are those of LearnOptions
    """Reconstruct the tokenizer of a reference as a GGUF file.

    A reference that declares its tokenizer is read. Any other is asked for the ids of a few thousand texts, which
    reveal the types of its tokens, its special tokens, its pre-tokenizer and its normalizer. Ids show only the effects
    of merges and scores, so these are written in the order that trainers usually produce.

    The result is verified on generated texts. The exit code is 0 if all of them have the same ids, 1 if some differ,
    and 2 if the command could not run.
    """
    return learn_reference(LearnOptions(target=output, output=None, **options))


def learn_reference(chosen: LearnOptions) -> int:
    """Reconstruct a tokenizer, write the reports, and return the exit code."""
    check_reports(chosen, FORMATS["learn"], [chosen.reference, chosen.vocabulary], [chosen.target])
    return write_reports(chosen, present("learn", _reconstruct(chosen)))


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
