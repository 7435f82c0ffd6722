"""`tokverify cases record`: write the ids of a reference into suites, as what a model is expected to give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, cases_option, model_argument, no_color_option, selection_options
from tokverify.cli.output import render_options, write_text
from tokverify.cli.progress import ProgressBar
from tokverify.errors import TokverifyError
from tokverify.system.output_file import write_files
from tokverify.tasks.comparison import open_comparison

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource
    from tokverify.cases.suite import Suite
    from tokverify.tasks.recording import RecordedCase, Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What the user asked for."""

    model: Path
    reference: str | None
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    name: str | None
    output: Path | None
    no_color: bool


@click.command()
@model_argument
@click.option("-r", "--reference", metavar="LOCATION", help="Whose ids to record; as for `tokverify run`.")
@cases_option("What to record into")
@selection_options
@click.option("--name", metavar="NAME", help="What the ids are recorded under, if not the name of MODEL's file.")
@click.option("-o", "--output", type=PATH, metavar="DIR", help="Write copies of the suites there.")
@no_color_option
def record(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in RecordOptions
    """Record the ids of MODEL's reference in suites.

    `tokverify run MODEL` can then do without the reference: where every case expects something of MODEL, it compares
    with that. What the suites hold otherwise stays as it is. Without --cases it is the shipped suites that are
    recorded into, as copies in -o DIR.

    The exit code is 0 if the ids of all cases were recorded, 1 if the reference could not give those of some, and 2
    if it could not give any, or something else went wrong.
    """
    return _record(RecordOptions(**options))


def _record(options: RecordOptions) -> int:
    from tokverify.cases.case import SHIPPED
    from tokverify.render.recording import render

    if SHIPPED in (options.cases or [SHIPPED]) and options.output is None:
        raise click.UsageError("name the suites to record into with --cases, or with -o where to copy the shipped ones")
    recording = _recording(options)
    write_text(render(recording, render_options(no_color=options.no_color)))
    return recording.exit_code


def _recording(options: RecordOptions) -> Recording:
    from tokverify.cases.case import SHIPPED
    from tokverify.cases.loading import load_suites, shipped_suites
    from tokverify.cases.selection import select
    from tokverify.tasks.recording import Recording, record
    from tokverify.verify.expectation import is_name_of

    # As the files they are, to be copied.
    suites = load_suites(shipped_suites() if source == SHIPPED else source for source in options.cases or [SHIPPED])
    cases = select(
        [case for suite in suites for case in suite.cases],
        suites=options.suites,
        tags=options.tags,
        patterns=options.patterns,
    )
    files = {case.file for case in cases}
    targets = _targets([suite for suite in suites if suite.file in files], options.output)
    opened = open_comparison(options.model, options.reference)
    actual, expected = opened.sides
    key = options.name or opened.actual.name
    with ProgressBar(wanted=True) as progress:
        results = record(opened.actual, opened.expected, cases, key, on_progress=progress.update)
    written, untouched = _write(targets, results, key)
    return Recording(actual, expected, key, is_name_of(key, actual), tuple(results), written, untouched)


def _targets(suites: Sequence[Suite], directory: Path | None) -> dict[Path, Suite]:
    """Map the file to write to the suite that is recorded into it."""
    for suite in suites:
        if not Path(suite.file).is_file():
            raise TokverifyError(f"{suite.file}: not a regular file, so nothing can be recorded in it; save it first")
    if directory is None:
        return {Path(suite.file): suite for suite in suites}
    if directory.exists() and not directory.is_dir():
        raise TokverifyError(f"{directory}: not a directory; name one for the copies of the suites")
    targets: dict[Path, Suite] = {}
    for suite in suites:
        other = targets.setdefault(directory / Path(suite.file).name, suite)
        if other is not suite:
            raise TokverifyError(
                f"{suite.file}: would be copied to the same file as {other.file}; record one at a time"
            )
    return targets


def _write(
    targets: dict[Path, Suite], results: Sequence[RecordedCase], key: str
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Write the suites, all of them or none; return the files written and those that were as they should be."""
    texts = {target: _recorded(suite, results, key) for target, suite in targets.items()}
    untouched = [target for target, text in texts.items() if target.exists() and target.read_bytes() == text.encode()]
    written = {target: text for target, text in texts.items() if target not in untouched}
    for target in written:
        if target.exists() and target != Path(targets[target].file):
            raise TokverifyError(
                f"{target}: exists already, and is not the copy that would be written;"
                f" record into it with --cases {target.parent}, or name another directory"
            )
        target.parent.mkdir(exist_ok=True)
    write_files(written)
    return tuple(written), tuple(untouched)


def _recorded(suite: Suite, results: Sequence[RecordedCase], key: str) -> str:
    """Return the text of a suite with what is to be recorded in it."""
    from tokverify.render.suite_edit import with_expected
    from tokverify.tasks.recording import check_recorded, to_write

    text = Path(suite.file).read_bytes().decode()
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    ids = to_write(result for result in results if result.case.file == suite.file)
    edited = with_expected(text.removeprefix(mark), key, ids)
    check_recorded(suite, edited, key, ids)
    return mark + edited
