"""`tokverify corpus`: compare a tokenizer file and its reference on a corpus of any size."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from tokverify.commands.cli.case_options import strict_option
from tokverify.commands.cli.group import old_command, replace_old_names
from tokverify.commands.cli.locations import PATH, SUITE_PATH
from tokverify.commands.cli.options import (
    examples_option,
    is_default,
    jobs_option,
    json_option,
    model_argument,
    parse_special_option,
    reference_option,
    reject_unused,
    report_options,
)
from tokverify.commands.cli.output import ReportOptions, check_reports, write_reports
from tokverify.commands.cli.parameters import argument, named, narrow, option, takes
from tokverify.commands.cli.progress import StatusLine
from tokverify.commands.cli.stream import write_stderr, write_text
from tokverify.render.corpus import describe_differences, describe_progress, progress_to_json
from tokverify.render.kinds import present
from tokverify.report.corpus import CorpusProgress
from tokverify.text.wording import plural

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tokverify.corpus.plan import Shard

PROGRESS = ("bar", "json")
"""How progress can be shown."""


class CorpusProgressLine:
    """A bar, if stderr is a terminal and it is enabled; or a line of JSON for each update, if `kind` is `json`."""

    def __init__(self, kind: str, *, enabled: bool) -> None:
        self._writes_json = kind == "json"
        self._has_bar = enabled and not self._writes_json and sys.stderr.isatty()
        self._bar: tuple[Progress, TaskID] | None = None
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar[0].stop()

    def update(self, progress: CorpusProgress) -> None:
        """Show the current state."""
        if self._writes_json:
            write_stderr(progress_to_json(progress, seconds=time.monotonic() - self._start))
        elif self._has_bar:
            self._bar = self._bar or _start_bar(progress)
            bar, task = self._bar
            bar.update(task, completed=progress.file_bytes.done, differences=describe_differences(progress))


def _start_bar(progress: CorpusProgress) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    bar = Progress(
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[differences]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    # What earlier runs have done says nothing about the speed of this one.
    task = bar.add_task("", total=progress.file_bytes.total, completed=progress.file_bytes.done, differences="")
    bar.start()
    return bar, task


_ALL_PERCENT = 100
_USUAL_FIELDS = "auto"
_OTHER_COMMANDS = """\b
Other commands, which work on the directories given with --state:
  tokverify corpus status DIR    Show the progress of a run.
  tokverify corpus retry DIR     Retry what could not be read.
  tokverify corpus merge DIR...  Write the report of all stored results.
"""


class _CorpusGroup(click.Group):
    """A group that runs its default command unless the first argument is the name of a command."""

    default_command = "verify"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the name of the default command."""
        is_named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if is_named or ctx.resilient_parsing else [self.default_command, *args])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; options under their old names get their new ones."""
        name, command, arguments = super().resolve_command(ctx, args)
        return name, command, replace_old_names(f"corpus {name}", arguments)


def _parse_shard(ctx: click.Context, param: click.Parameter, value: str | None) -> Shard | None:
    from tokverify.corpus.plan import Shard

    match = re.fullmatch(r"([0-9]+)/([0-9]+)", value or "")
    if value is None or (match and 1 <= int(match[1]) <= int(match[2])):
        return Shard(int(match[1]), int(match[2])) if match else None
    raise click.BadParameter(
        f"{value!r} is not a part of a whole; write one, such as 3/64 for the third of 64", ctx, param
    )


def _parse_rate(ctx: click.Context, param: click.Parameter, value: str | None) -> float:
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)(%?)", value or "1")
    rate = float(match[1]) / (_ALL_PERCENT if match[2] else 1) if match else 0.0
    if 0 < rate <= 1:
        return rate
    raise click.BadParameter(f"{value!r} is not a share; write one, such as 0.05 or 5%", ctx, param)


@dataclass(frozen=True, kw_only=True)
class CorpusOptions(ReportOptions):
    """The options of the commands that write a report."""

    reference: str | None = reference_option(
        "of these results", "; required if it is a program or a server with a key, because only you may name these"
    )
    max_differences: int = option(
        "--max-differences",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        metavar="N",
        help="Succeed if at most N documents differ.",
    )
    strict: bool = strict_option()
    allow_null: bool = option(
        "--allow-null", is_flag=True, help="Accept rows without a value, which are counted in any case."
    )
    judge: str | None = option(
        "--judge", metavar="LOCATION", help="Ask a third tokenizer, such as llama.cpp, about the examples."
    )
    distill: Path | None = option(
        "--distill",
        type=SUITE_PATH,
        metavar="FILE",
        recorded=False,
        help="Write a small suite that covers what occurs in the corpus.",
    )

    def conclusion(self) -> dict[str, Any]:
        """Return the options for the report on the results, as all functions that make one take them."""
        return {
            "max_differences": self.max_differences,
            "strict": self.strict,
            "allow_null": self.allow_null,
            "judge": self.judge,
            "distilled": self.distill,
            "outputs": self.output_files(),
        }


@dataclass(frozen=True, kw_only=True)
class WorkOptions(CorpusOptions):
    """The options of the commands that read a corpus."""

    jobs: int | None = jobs_option(None)
    progress: str = option(
        "--progress",
        type=click.Choice(PROGRESS),
        default=PROGRESS[0],
        show_default=True,
        recorded=False,
        help="Show a bar, if stderr is a terminal, or write JSON Lines to stderr.",
    )


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(WorkOptions):
    """The options of `tokverify corpus verify`."""

    model: Path | str = model_argument()
    data: tuple[str, ...] = argument(nargs=-1, required=True)
    reference: str | None = reference_option("to compare with")
    text: str | None = option(
        "--text-column", metavar="COLUMN", help="The column with the texts, such as `meta.body` (default: detected)."
    )
    ids: str | None = option(
        "--ids-column", metavar="COLUMN", help="Verify the ids in this column: the corpus is already tokenized."
    )
    fields: tuple[str, ...] = option(
        "--ids",
        multiple=True,
        metavar="FIELD",
        recorded=False,
        help="Check whether the ids in this field of a log in JSON Lines, or with `auto` in the usual fields, are the"
        " encoding of their own text. Can be repeated: the fields are joined in this order.",
    )
    examples: int = examples_option(recorded=False)
    add_special: bool = option(
        "--add-special/--no-add-special", default=True, help="Add BOS and EOS as each side does (default: on)."
    )
    parse_special: bool = parse_special_option()
    sample: float = option(
        "--sample", callback=_parse_rate, metavar="SHARE", help="Compare this share of the documents, such as 5%."
    )
    state: Path | None = option(
        "--state",
        type=PATH,
        metavar="DIR",
        recorded=False,
        help="Keep results in this directory, to resume after a stop.",
    )
    shard: Shard | None = option(
        "--shard", callback=_parse_shard, metavar="I/N", help="Verify one part of the corpus, such as 3/64."
    )
    ray: str | None = option(
        "--ray", metavar="ADDRESS", recorded=False, help="Work on a Ray cluster: its address, or `auto`."
    )
    timing: bool = option("--timing", is_flag=True, recorded=False, help="Also report how fast the workers were.")


@dataclass(frozen=True, kw_only=True)
class MergeOptions(CorpusOptions):
    """The options of `tokverify corpus merge`."""

    directories: tuple[Path, ...] = argument(nargs=-1, required=True, type=PATH)


@dataclass(frozen=True, kw_only=True)
class RetryOptions(WorkOptions):
    """The options of `tokverify corpus retry`."""

    directory: Path = argument(type=PATH)


@click.group(cls=_CorpusGroup)
def corpus() -> None:
    """Compare a model and its reference on a training corpus."""


@corpus.command(epilog=_OTHER_COMMANDS)
@takes(VerifyOptions)
@report_options()
def verify(options: VerifyOptions) -> int:
    """Compare MODEL and its reference on all documents in DATA.

    MODEL is a GGUF file; or a tokenizer.json, a sentencepiece .model or FILE.tiktoken:PATTERN, read as llama.cpp
    would read the equivalent GGUF file. DATA are files, directories, patterns and URLs (s3://, https://, ...) of
    Parquet, JSON Lines (also .gz and .zst), Arrow, Feather and text files.

    With --ids and without --text-column, DATA is one log with a JSON object on each line, such as the rollouts of a
    reinforcement learning run. MODEL decodes the ids of each line, and MODEL, or the reference if there is one, encodes
    that text again. Each sequence whose ids change is counted under the cause of its first deviation.

    The exit code is 0 if no document differs, 1 if some do, and 2 if anything could not be read or compared.
    """
    if options.fields and options.text is None:
        return _check_log(options)
    if not is_default("examples"):
        raise click.UsageError("--examples needs --ids")
    if options.fields:
        # This is how the previous version named the column with the ids.
        options = replace(options, ids=options.ids or options.fields[0])
    return _verify(options)


def _check_log(options: VerifyOptions) -> int:
    reject_unused("--ids", {"model", "data", "reference", "fields", "examples"})
    if len(options.data) != 1:
        raise click.UsageError("--ids reads one log; for a corpus of several files, use --ids-column")
    usual = options.fields == (_USUAL_FIELDS,)
    given = {**vars(options), "log": Path(options.data[0]), "fields": () if usual else options.fields}
    return check_log(narrow(CanonicalOptions, given))


def _verify(options: VerifyOptions) -> int:
    from tokverify.commands.tasks.corpus import verify_corpus

    check_reports(options, outputs=[options.distill])
    with CorpusProgressLine(options.progress, enabled=not options.quiet) as line:
        report = verify_corpus(
            options.model,
            options.reference,
            options.data,
            text=options.text,
            ids=options.ids,
            add_special=options.add_special,
            parse_special=options.parse_special,
            sample=options.sample,
            jobs=options.jobs,
            state=options.state,
            shard=options.shard,
            ray=options.ray,
            timing=options.timing,
            **options.conclusion(),
            on_progress=line.update,
        )
    return write_reports(options, present("corpus", report))


@corpus.command()
@named(directory=argument(type=PATH), format_name=json_option())
def status(*, directory: Path, format_name: str | None) -> None:
    """Show the progress of the runs started with --state DIRECTORY, from the results stored there."""
    from tokverify.commands.tasks.corpus_state import corpus_status

    progress = corpus_status(directory)
    write_text((progress_to_json(progress) if format_name == "json" else describe_progress(progress)) + "\n")


@corpus.command()
@takes(MergeOptions)
@report_options()
def merge(options: MergeOptions) -> int:
    """Write the report of all results that are stored in DIRECTORIES.

    They must have the same plan, as those of all parts that --shard divides a corpus into. The exit code is 2 if the
    result of some part is missing.
    """
    from tokverify.commands.tasks.corpus_state import merge_corpus

    check_reports(options, outputs=[options.distill])
    report = merge_corpus(options.directories, options.reference, **options.conclusion())
    return write_reports(options, present("corpus", report))


@corpus.command()
@takes(RetryOptions)
@report_options()
def retry(options: RetryOptions) -> int:
    """Retry what could not be read in the runs of --state DIRECTORY, and verify what is missing."""
    from tokverify.commands.tasks.corpus_state import retry_corpus

    check_reports(options, outputs=[options.distill])
    with CorpusProgressLine(options.progress, enabled=not options.quiet) as line:
        report = retry_corpus(
            options.directory,
            options.reference,
            jobs=options.jobs,
            **options.conclusion(),
            on_progress=line.update,
        )
    return write_reports(options, present("corpus", report))


@dataclass(frozen=True, kw_only=True)
class CanonicalOptions(ReportOptions):
    """The options of `tokverify canonical`."""

    log: Path = argument(type=PATH)
    model: Path | str = model_argument()
    reference: str | None = reference_option("to encode the texts with instead of MODEL")
    fields: tuple[str, ...] = option(
        "--field",
        multiple=True,
        metavar="FIELD",
        help="The field with the ids. Can be repeated: the fields are joined in this order.",
    )
    examples: int = examples_option()


@old_command("corpus verify MODEL LOG --ids FIELD")
@click.command()
@takes(CanonicalOptions)
@report_options()
def canonical(options: CanonicalOptions) -> int:
    """Check whether logged ids are the encoding of their own text.

    MODEL decodes the ids to a text. MODEL, or the reference if there is one, encodes that text again. LOG contains a
    JSON object with a list of ids on each line, such as the rollouts of a reinforcement learning run. A sequence that
    deviates is tokenized differently if its text is encoded again, so that log probabilities and cached prefixes no
    longer belong to it. Each deviating sequence is counted under the cause of its first deviation.

    The exit code is 0 if no sequence deviates, 1 if one does, and 2 if nothing was compared.
    """
    return check_log(options)


def check_log(options: CanonicalOptions) -> int:
    """Check the ids of a log, write the reports, and return the exit code."""
    from tokverify.commands.tasks.canonical import check_canonical_ids

    check_reports(options, [options.log, options.model, options.reference])
    with StatusLine(enabled=not options.quiet) as line:
        report = check_canonical_ids(
            options.log,
            options.model,
            options.reference,
            fields=options.fields,
            examples=options.examples,
            options=options.as_recorded(),
            on_progress=lambda count: line.show(plural(count, "sequence")),
        )
    return write_reports(options, present("canonical", report))
