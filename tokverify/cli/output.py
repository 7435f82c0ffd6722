"""Write what a command has to say: to stdout and to files."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TextIO

import click

from tokverify.errors import TokverifyError
from tokverify.render import SUFFIXES, RenderOptions
from tokverify.render.presentation import CI_FORMATS
from tokverify.system.output_file import append_text, check_writable, write_files
from tokverify.system.workflow_log import in_workflow, without_commands
from tokverify.text.visible import visible_message

if TYPE_CHECKING:
    from tokverify.render.presentation import Presentation

STDOUT = Path("-")
_CLOSED_PIPE = 141
_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
_LONGEST_PATH = 4096
_JOB_SUMMARY = "GITHUB_STEP_SUMMARY"
# GitHub refuses a longer one as a whole.
_JOB_SUMMARY_BYTES = 1 << 20


class ReportFile(NamedTuple):
    """A report in a format, and where it goes; None is stdout."""

    format_name: str
    path: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How the user wants a report, and where; `output` is None or `-` for stdout, `reports` are further ones."""

    format_name: str | None
    output: Path | None
    quiet: bool
    verbose: bool
    no_color: bool
    reports: tuple[ReportFile, ...] = ()

    def files(self, formats: Container[str]) -> list[ReportFile]:
        """Return all reports that are wanted, with where they go; `formats` are those that there are.

        The one that `-f` and `-o` describe is a table where nothing else is asked for or implied by the file's name,
        and goes to stdout only where no other one does.
        """
        implied = SUFFIXES.get(self.output.suffix.lower(), "table") if self.output else "table"
        place = None if self.output == STDOUT else self.output
        main = ReportFile(self.format_name or (implied if implied in formats else "table"), place)
        taken = any(path is None for _, path in self.reports)
        unasked = self.format_name is None and self.output is None
        return list(self.reports) if taken and unasked else [main, *self.reports]


def write_text(text: str, *, commands: bool = False) -> None:
    """Write text to stdout; with `commands`, GitHub Actions is meant to obey those in it."""
    shown = text if commands else _for_log(text, sys.stdout)
    _to_stdout(lambda: sys.stdout.write(shown))


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout, as they are."""
    _to_stdout(lambda: sys.stdout.buffer.write(data))


def flush_stdout() -> None:
    """Write out what is buffered, so that a failure is met here and not when Python exits."""
    _to_stdout(lambda: None)


def _to_stdout(write: Callable[[], object]) -> None:
    try:
        write()
        sys.stdout.flush()
    except OSError as error:
        fail_on_stdout(error)


def fail_on_stdout(error: OSError) -> NoReturn:
    """Give stdout up, as `error` came of writing to it.

    Raises:
        Exit: If nobody reads it any more.
        TokverifyError: If it cannot be written to.
    """
    _discard(sys.stdout)
    if isinstance(error, BrokenPipeError):
        # Whoever read the output, such as `head`, has seen enough: no error, but not a success either.
        raise click.exceptions.Exit(_CLOSED_PIPE) from None
    raise TokverifyError(f"cannot write to stdout: {error.strerror}") from error


def tell(line: str) -> None:
    """Write a line to stderr; where that cannot be written to, the exit code is all that is left to tell."""
    shown = _for_log(line, sys.stderr)
    try_to_tell(lambda: click.echo(shown, err=True))


def try_to_tell(write: Callable[[], object]) -> None:
    """Call what writes to stderr, and give stderr up where it cannot be written to."""
    try:
        write()
    except OSError:
        _discard(sys.stderr)


def _for_log(text: str, stream: TextIO) -> str:
    """Return text as a stream can take it: in a log of GitHub Actions, none of it is a command."""
    return without_commands(text) if in_workflow() and not _is_file(stream) else text


def _is_file(stream: TextIO) -> bool:
    """Tell whether a stream is sent to a file, which gets everything as it is."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def _discard(stream: TextIO) -> None:
    """Send what is still buffered nowhere; Python would fail on it again on exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def render_options(*, no_color: bool, verbose: bool = False, quiet: bool = False) -> RenderOptions:
    """Return how to write to stdout: as wide and colorful as it is, if it is a terminal."""
    if not sys.stdout.isatty():
        return RenderOptions(verbose=verbose, quiet=quiet)
    # https://no-color.org
    plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    width = shutil.get_terminal_size().columns
    return RenderOptions(width=width, color=not plain, verbose=verbose, quiet=quiet)


def check_reports(
    options: ReportOptions, inputs: Iterable[Path | str | None] = (), outputs: Iterable[Path | None] = ()
) -> None:
    """Fail before the work is done if the reports could not be written after it, or would overwrite an input.

    `outputs` are further files that will be written.

    Raises:
        UsageError: If two reports go to one place.
        TokverifyError: As `check_writable` does.
    """
    inputs = list(inputs)
    seen: set[Path | None] = {path.resolve() for path in outputs if path}
    for _, path in options.files(()):
        if path is not None:
            check_writable(path, inputs)
        place = path.resolve() if path else None
        if place in seen:
            raise click.UsageError(f"two reports go to {path or 'stdout'}; name a file for one of them")
        seen.add(place)


def write_reports(
    options: ReportOptions, shown: Presentation, also: Mapping[Path, Callable[[], str]] | None = None
) -> None:
    """Write all reports that are wanted, once all of them are rendered; the verdict is told if stdout lacks it.

    With the format `github`, the job summary is written, too.

    Args:
        options: What the user asked for.
        shown: The report in all formats.
        also: Further files to write along with the reports, and what makes their texts.
    """
    reports = options.files(shown.formats)
    for_ci = _ci_options() if any(name in CI_FORMATS for name, _ in reports) else RenderOptions()
    texts = {
        path: shown.formats[name](for_ci if name in CI_FORMATS else _reader_options(path, options))
        for name, path in reports
    }
    files = {path: text for path, text in texts.items() if path}
    write_files(files | {path: make() for path, make in (also or {}).items()})
    if any(name == "github" for name, _ in reports):
        _write_job_summary(shown.formats["markdown"])
    if None in texts:
        write_text(texts[None], commands=ReportFile("github", None) in reports)
    # The annotations on stdout say nothing where all is well, and a log is read by people.
    if (files or ReportFile("github", None) in reports) and not options.quiet:
        told = [] if ReportFile("table", None) in reports else [shown.verdict]
        if files:
            told.append(f"the report{'s are' if len(files) > 1 else ' is'} in {', '.join(map(str, files))}")
        tell(visible_message("; ".join(told)))


def _ci_options() -> RenderOptions:
    """Return how to write a report for a CI system."""
    root = _repository()
    return RenderOptions(root=root, stand_in=_stand_in(root))


def _reader_options(path: Path | None, options: ReportOptions) -> RenderOptions:
    """Return how to write a report for somebody who reads a file, or stdout."""
    if path:
        return RenderOptions(verbose=options.verbose, quiet=options.quiet)
    return render_options(no_color=options.no_color, verbose=options.verbose, quiet=options.quiet)


def _repository() -> str:
    """Return the root of the repository that the current directory is in; empty if there is none.

    That is where git says, or, where there was no git to check it out with, where GitHub or GitLab does.
    """
    # The directory may be gone, or one above it closed to us; what is run there need not end for that.
    with suppress(OSError):
        here = Path.cwd()
        places = (here, *here.parents)
        told = [os.environ[name] for name in _CHECKOUTS if name in os.environ]
        roots = (str(place) for place in places if (place / ".git").exists() and not _is_submodule(place / ".git"))
        return next(roots, "") or next((str(place) for place in places if str(place) in told), "")
    return ""


def _is_submodule(git: Path) -> bool:
    """Tell whether a repository, by its `.git`, is part of one above it, which is what a CI system knows."""
    # subtle: a worktree has such a file, too, and is a repository of its own.
    if not git.is_file():
        return False
    with git.open("rb") as file:
        leads_to = file.read(_LONGEST_PATH).removeprefix(b"gitdir: ").split(b"/")
    return leads_to[0] == b".." and b"modules" in leads_to and b"worktrees" not in leads_to


def _stand_in(root: str) -> str:
    """Return the path of what configures tokverify, from the root of the repository on; that itself if nothing does."""
    from tokverify.project.configuration import find_file

    with suppress(OSError, TokverifyError):
        file = find_file(Path.cwd())
        if root and file and file.is_relative_to(root):
            return file.relative_to(root).as_posix()
    return "."


def _write_job_summary(write: Callable[[RenderOptions], str]) -> None:
    """Add to what GitHub shows of this step, if there is one."""
    if not os.environ.get(_JOB_SUMMARY):
        return
    path = Path(os.environ[_JOB_SUMMARY])
    held = path.stat().st_size if path.exists() else 0
    append_text(path, write(RenderOptions(limit=max(0, _JOB_SUMMARY_BYTES - held))))
