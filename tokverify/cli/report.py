"""`tokverify report`: show saved reports in any format, and compare two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.baseline import baseline_options, check_baseline
from tokverify.cli.options import PATH, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.errors import TokverifyError
from tokverify.render import FORMATS
from tokverify.render.presentation import load
from tokverify.render.report_diff import DIFF_FORMATS

if TYPE_CHECKING:
    from tokverify.render.presentation import Presentation
    from tokverify.report.run import Report
    from tokverify.report.saved.json_node import JsonNode
    from tokverify.verify.baseline import Baseline

    Also = Mapping[Path, Callable[[], str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowOptions(ReportOptions):
    """What the user asked for."""

    baseline: Path | None
    update_baseline: bool
    reason: str | None


@click.group()
def report() -> None:
    """Show a saved report in any format, or compare two."""


@report.command()
@click.argument("file", type=PATH)
@baseline_options
@report_options(FORMATS, "Matching cases and settings too, and nothing folded.")
def show(*, file: Path, **options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in ShowOptions
    """Show a saved report in any format.

    FILE is the JSON report of `tokverify run`, `fuzz`, `diff`, `audit`, `chat` or `stats`, and the formats are those of
    that command.

    The exit code is that of the command that wrote the report; with --baseline, a report of `tokverify run` is judged
    by that baseline instead of the one it was made with.
    """
    from tokverify.report.saved import open_saved
    from tokverify.verify.baseline import Baseline

    wanted = ShowOptions(**options)
    check_reports(wanted, [file, wanted.baseline], [wanted.baseline])
    check_baseline(wanted)
    baseline = Baseline.load(wanted.baseline, missing_ok=wanted.update_baseline) if wanted.baseline else None
    root = open_saved(file, ["run"] if baseline else _KINDS)
    kind = root.get("kind").string()
    shown, also = _judged_run(root, baseline, wanted) if baseline else (_shown(root), None)
    for name, _ in wanted.report_files(shown.formats):
        if name not in shown.formats:
            known = ", ".join(shown.formats)
            raise TokverifyError(f"{file}: is of `tokverify {kind}`, which has no format {name}; it has {known}")
    write_reports(wanted, shown, also)
    return shown.exit_code


def _judged_run(root: JsonNode, baseline: Baseline, options: ShowOptions) -> tuple[Presentation, Also]:
    from tokverify.render import present
    from tokverify.tasks.run import update_baseline

    saved = _restore_run(root)
    if options.baseline and options.update_baseline:
        updated, files = update_baseline(saved, baseline, options.baseline, options.reason)
        return present(updated), files
    return present(baseline.apply(saved)), {}


def _restore_run(root: JsonNode) -> Report:
    """Read a report of `tokverify run`; its commands are computed, as those in a file could be anybody's."""
    from tokverify.diagnosis.repair import with_repairs
    from tokverify.report.saved.run import restore_report

    return with_repairs(restore_report(root))


def _shown(root: JsonNode) -> Presentation:
    restore, present = map(load, _KINDS[root.get("kind").string()])
    shown: Presentation = present(restore(root))
    return shown


_KINDS: Mapping[str, tuple[str, str]] = {
    "run": ("tokverify.cli.report:_restore_run", "tokverify.render:present"),
    "fuzz": ("tokverify.report.saved.fuzz:restore_fuzz", "tokverify.render.fuzz:present"),
    "diff": ("tokverify.report.saved.diff:restore_change", "tokverify.render.diff:present"),
    "audit": ("tokverify.report.saved.audit:restore_audit", "tokverify.render.audit:present"),
    "chat": ("tokverify.report.saved.chat:restore_chat", "tokverify.render.chat:present"),
    "stats": ("tokverify.report.saved.stats:restore_stats", "tokverify.render.stats:present"),
}
"""The kind of a report -> how it is read and written."""


@report.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@report_options(DIFF_FORMATS, "No more than without, as nothing is folded.")
def diff(*, old: Path, new: Path, **options: Any) -> int:  # noqa: ANN401 - likewise
    """Compare two saved reports: say what changed from OLD to NEW.

    Both are JSON reports of `tokverify run`.

    The exit code is 1 if a case fails in NEW that passed in OLD or was not in it, else 0.
    """
    from tokverify.render.report_diff import present
    from tokverify.report.saved.run import read_report
    from tokverify.verify.report_diff import compare_reports

    wanted = ReportOptions(**options)
    check_reports(wanted, [old, new])
    found = compare_reports(read_report(old), read_report(new))
    write_reports(wanted, present(found))
    return found.exit_code
