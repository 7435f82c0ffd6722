"""Write the reports of a command: choose formats and places, render, write, announce."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import click

from tokverify.case import name_of_source
from tokverify.commands.cli.parameters import is_recorded
from tokverify.commands.cli.stream import render_options, write_stderr, write_text
from tokverify.location import Location
from tokverify.render.kinds import CI_FORMATS, SUFFIXES, Presentation
from tokverify.render.options import RenderOptions
from tokverify.system.ci import repository_root
from tokverify.system.output_file import append_text, check_writable, write_files
from tokverify.text.visible import visible_message

STDOUT = Path("-")
_JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
# GitHub rejects a longer one as a whole.
_JOB_SUMMARY_BYTES = 1 << 20
_MODEL_SUFFIXES = frozenset({".gguf", ".model", ".tiktoken", ".safetensors"})


class ReportFile(NamedTuple):
    """A report to write."""

    format_name: str
    """The format."""
    path: Path | None
    """The file; None is stdout."""


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """The options of all reporting commands. Those of one command are added in a subclass."""

    format_name: str | None
    """The format of the main report; None to choose one."""
    output: Path | None = None
    """The file of the main report; None or `-` is stdout."""
    quiet: bool
    """Whether to write only the verdict to stdout."""
    verbose: bool
    """Whether to write everything."""
    no_color: bool
    """Whether to write without color to a terminal."""
    reports: tuple[ReportFile, ...] = ()
    """Additional reports."""

    def report_files(self) -> list[ReportFile]:
        """List all reports to write.

        The main report is a table unless a format is requested or implied by the name of the file. It is left out if
        neither format nor file is requested and another report goes to stdout.
        """
        place = None if self.output == STDOUT else self.output
        main = ReportFile(self.format_name or _implied_format(place), place)
        stdout_is_taken = any(report.path is None for report in self.reports)
        is_unspecified = self.format_name is None and self.output is None
        return list(self.reports) if stdout_is_taken and is_unspecified else [main, *self.reports]

    def output_files(self) -> list[Path]:
        """List the files that the reports are written to."""
        return [report.path for report in self.report_files() if report.path]

    def as_recorded(self) -> dict[str, object]:
        """Return the options that determine the result, to record them in the report."""
        names = [each.name for each in fields(self) if is_recorded(each) and each.name not in OF_REPORTS]
        return {name: _to_json(getattr(self, name)) for name in names}


OF_REPORTS = frozenset(each.name for each in fields(ReportOptions))
"""The parameters of all commands that write reports, which change no result."""


def _implied_format(path: Path | None) -> str:
    """Return the format that the name of a file implies; None is stdout."""
    return SUFFIXES.get(path.suffix.lower(), ("table",))[0] if path else "table"


def _to_json(value: object) -> object:
    """Convert the value of an option to a value of JSON; paths are written as a user would."""
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Location):
        return value.text
    return name_of_source(value) if isinstance(value, Path) else value


def check_reports(
    options: ReportOptions,
    inputs: Iterable[os.PathLike[str] | str | None] = (),
    outputs: Iterable[Path | None] = (),
) -> None:
    """Fail before any work is done if the reports that the options name cannot be written; see `check_places`."""
    check_places(options.report_files(), inputs, outputs)


def check_places(
    reports: Iterable[ReportFile],
    inputs: Iterable[os.PathLike[str] | str | None] = (),
    outputs: Iterable[Path | None] = (),
) -> None:
    """Fail before any work is done if reports cannot be written, or would overwrite an input.

    Raises:
        UsageError: If two reports go to one place or to one of `outputs`, or the name of a file contradicts its format.
        TokverifyError: As `check_writable` does.
    """
    inputs = list(inputs)
    taken: set[Path | None] = {path.resolve() for path in outputs if path}
    for format_name, path in reports:
        if path is not None:
            check_writable(path, inputs)
            _check_name(path, format_name)
        place = path.resolve() if path else None
        if place in taken:
            raise click.UsageError(f"two reports go to {path or 'stdout'}; name a file for one of them")
        taken.add(place)


def _check_name(path: Path, format_name: str) -> None:
    """Fail if people or programs would expect another format in a file of this name."""
    suffix = path.suffix.lower()
    if suffix in _MODEL_SUFFIXES:
        raise click.UsageError(
            f"{path}: this is the name of a model, but a report would be written to it; choose another name, or use "
            "`tokverify fix` to write a repaired model"
        )
    fitting = SUFFIXES.get(suffix, (format_name,))
    if format_name not in fitting:
        raise click.UsageError(
            f"{path}: the name of the file implies the format {fitting[0]}, but the report is written as {format_name};"
            " change one of them"
        )


def write_reports(
    options: ReportOptions,
    shown: Presentation,
    also: Mapping[Path, Callable[[], str]] | None = None,
    more_reports: Mapping[Path, Callable[[], str]] | None = None,
) -> int:
    """Render all requested reports, then write them all, then announce the verdict if it is not on stdout.

    With the format `github`, the job summary is written too. Functions render `more_reports`, on parts of the result,
    and the other files in `also`. Return the exit code of the report.
    """
    reports = options.report_files()
    texts = {path: render_to(path, options, shown, name) for name, path in reports}
    files = {path: text for path, text in texts.items() if path}
    files |= {path: render() for path, render in (more_reports or {}).items()}
    others = {path: render() for path, render in (also or {}).items()}
    write_files(files | others)
    if any(report.format_name == "github" for report in reports):
        _write_job_summary(shown.formats["markdown"])
    if None in texts:
        write_text(texts[None], commands=ReportFile("github", None) in reports)
    if not options.quiet:
        _announce(shown.verdict, reports, list(files))
        if others:
            write_stderr(visible_message(f"also written: {', '.join(map(str, others))}"))
    return shown.exit_code


def render_to(path: Path | None, options: ReportOptions, shown: Presentation, format_name: str) -> str:
    """Return what the file with a report will contain, or else stdout."""
    chosen = _ci_options() if format_name in CI_FORMATS else _reader_options(path, options)
    return shown.formats[format_name](chosen)


def _ci_options() -> RenderOptions:
    from tokverify.commands.project.configuration_file import locate_configuration

    root = repository_root()
    return RenderOptions(root=root, stand_in=locate_configuration(root))


def _reader_options(path: Path | None, options: ReportOptions) -> RenderOptions:
    """Choose how to render for a person who reads a file, or stdout."""
    if path:
        # `--quiet` is for the terminal: whoever keeps a report wants to read it.
        return RenderOptions(verbose=options.verbose)
    return render_options(no_color=options.no_color, verbose=options.verbose, quiet=options.quiet)


def _announce(verdict: str, reports: Iterable[ReportFile], files: list[Path]) -> None:
    """Write to stderr what stdout does not show: the verdict, and where the reports are."""
    # Without failures there are no annotations on stdout, but people read the log.
    if not files and ReportFile("github", None) not in reports:
        return
    parts = [] if ReportFile("table", None) in reports else [verdict]
    if files:
        parts.append(f"the report{'s are' if len(files) > 1 else ' is'} in {', '.join(map(str, files))}")
    write_stderr(visible_message("; ".join(parts)))


def _write_job_summary(render: Callable[[RenderOptions], str]) -> None:
    """Append to the summary that GitHub shows for this job, if there is one."""
    if not os.environ.get(_JOB_SUMMARY):
        return
    path = Path(os.environ[_JOB_SUMMARY])
    size = path.stat().st_size if path.exists() else 0
    append_text(path, render(RenderOptions(limit=max(0, _JOB_SUMMARY_BYTES - size))))
