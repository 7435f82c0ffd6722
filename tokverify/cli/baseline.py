"""The options on known failures, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import click

from tokverify.cli.options import PATH

if TYPE_CHECKING:
    from tokverify.report.run import Report
    from tokverify.verify.baseline import Baseline

_Command = TypeVar("_Command", bound="Callable[..., object]")

_OPTIONS = (
    click.option("--baseline", type=PATH, metavar="FILE", help="A YAML or JSON list of known failures, with reasons."),
    click.option("--update-baseline", is_flag=True, help="Make --baseline list exactly what fails now."),
    click.option("--reason", metavar="TEXT", help="Why --update-baseline accepts what is not listed yet."),
)


class BaselineOptions(Protocol):
    """What the user asked for."""

    @property
    def baseline(self) -> Path | None:
        """The file."""

    @property
    def update_baseline(self) -> bool:
        """Whether to write it."""

    @property
    def reason(self) -> str | None:
        """The reason for what is new."""


def baseline_options(command: _Command) -> _Command:
    """Add the options on known failures."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def opened_baseline(options: BaselineOptions) -> Baseline | None:
    """Check the options and read the file; one that is to be written need not exist."""
    from tokverify.verify.baseline import read_baseline, utc_today

    if options.update_baseline and options.baseline is None:
        raise click.UsageError("--update-baseline needs the file to write: name it with --baseline")
    if options.reason is not None:
        _check_reason(options)
    if options.baseline is None:
        return None
    if not options.update_baseline:
        return read_baseline(options.baseline, utc_today())
    from tokverify.system.output_file import check_writable

    check_writable(options.baseline)
    return _opened(options.baseline)


class Outcome(NamedTuple):
    """A report, and what else is to be written along with it."""

    report: Report
    also: dict[Path, Callable[[], str]]


def judged(report: Report, baseline: Baseline | None, options: BaselineOptions) -> Outcome:
    """Return a report as a baseline judges it, the updated one if it is to be written.

    Raises:
        TokverifyError: If there are new failures and no reason.
    """
    from tokverify.verify.baseline import apply

    if baseline is None or options.baseline is None:
        return Outcome(report, {})
    if not options.update_baseline:
        return Outcome(apply(baseline, report), {})
    make = partial(_updated_text, report, options.baseline, options.reason)
    return Outcome(apply(baseline.updated(report, options.reason), report), {options.baseline: make})


def _updated_text(report: Report, path: Path, reason: str | None) -> str:
    """Update what the file holds by now, as the run of another model may have updated it meanwhile."""
    from tokverify.render.baseline import render_baseline

    return render_baseline(_opened(path).updated(report, reason), path.suffix)


def _opened(path: Path) -> Baseline:
    from tokverify.verify.baseline import Baseline, read_baseline, utc_today

    return read_baseline(path, utc_today()) if path.exists() else Baseline(str(path), (), utc_today())


def _check_reason(options: BaselineOptions) -> None:
    reason = options.reason or ""
    if not options.update_baseline:
        raise click.UsageError("--reason goes with --update-baseline")
    if not reason.strip() or not reason.isprintable():
        raise click.UsageError("--reason must be words on one line, without control characters")
