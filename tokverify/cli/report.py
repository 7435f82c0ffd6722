"""`tokverify report`: show saved reports in any format, and compare two."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.errors import TokverifyError
from tokverify.formats import FORMATS
from tokverify.formats.audit import AUDIT_FORMATS
from tokverify.formats.report_diff import DIFF_FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tokverify.formats import RenderOptions
    from tokverify.json_node import JsonNode


@click.group()
def report() -> None:
    """Show a saved report in any format, or compare two."""


@report.command()
@click.argument("file", type=PATH)
@report_options(FORMATS, "Matching cases and settings too, and nothing folded.")
def show(*, file: Path, **options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in ReportOptions
    """Show the JSON report in FILE, of `tokverify run` or `tokverify audit`, in any format.

    The exit code is that of the command that wrote the report.
    """
    from tokverify.saved_report import open_saved

    wanted = ReportOptions(**options)
    check_reports(wanted, [file])
    root = open_saved(file)
    return _show_audit(root, wanted) if root.get("kind").string() == "audit" else _show_run(root, wanted)


def _show_run(root: JsonNode, options: ReportOptions) -> int:
    from tokverify.formats import job_summary
    from tokverify.formats.verdict import verdict
    from tokverify.saved_report import restore_report

    found = restore_report(root)
    formats = {name: partial(render, found) for name, render in FORMATS.items()}
    write_reports(options, formats, verdict(found), summary=partial(job_summary, found))
    return found.exit_code


def _show_audit(root: JsonNode, options: ReportOptions) -> int:
    from tokverify.formats.audit import job_summary, verdict
    from tokverify.saved_audit import restore_audit

    found, fail_on = restore_audit(root)
    formats = {name: partial(render, found, fail_on) for name, render in AUDIT_FORMATS.items()}
    _check_formats(options, formats, root.file)
    write_reports(options, formats, verdict(found), summary=partial(job_summary, found, fail_on))
    return found.exit_code(fail_on)


def _check_formats(options: ReportOptions, formats: Mapping[str, Callable[[RenderOptions], str]], file: str) -> None:
    for name, _ in options.files(formats):
        if name not in formats:
            known = ", ".join(formats)
            raise TokverifyError(f"{file}: is of `tokverify audit`, which has no format {name}; it has {known}")


@report.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@report_options(DIFF_FORMATS, "No more than without, as nothing is folded.")
def diff(*, old: Path, new: Path, **options: Any) -> int:  # noqa: ANN401 - likewise
    """Say what changed from the JSON report OLD to NEW, both of `tokverify run`.

    The exit code is 1 if a case fails in NEW that passed in OLD or was not in it, else 0.
    """
    from tokverify.formats.report_diff import verdict
    from tokverify.report_diff import compare_reports
    from tokverify.saved_report import read_report

    wanted = ReportOptions(**options)
    check_reports(wanted, [old, new])
    found = compare_reports(read_report(old), read_report(new))
    write_reports(wanted, {name: partial(render, found) for name, render in DIFF_FORMATS.items()}, verdict(found))
    return found.exit_code
