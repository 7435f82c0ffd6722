"""`tokverify stats`: how many tokens a tokenizer makes of texts of many kinds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokverify.cli.options import PATH, report_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.cli.progress import ProgressBar
from tokverify.render.stats import STATS_FORMATS, present
from tokverify.report.stats import stats_exit_code

if TYPE_CHECKING:
    from tokverify.report.stats import StatsReport


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(ReportOptions):
    """What the user asked for."""

    model: str
    texts: tuple[Path, ...]
    others: tuple[str, ...]

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {"model": self.model, "others": list(self.others), "files": list(map(str, self.texts))}


@click.command()
@click.argument("model")
@click.argument("texts", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option("-m", "--model", "others", multiple=True, metavar="OTHER", help="Another tokenizer to put beside MODEL.")
@report_options(STATS_FORMATS, "Each language and each indentation, and digests of the tokenizers.")
def stats(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in StatsOptions
    """Measure how many tokens MODEL makes of the texts in FILEs.

    MODEL and OTHER are GGUF files, or anything that `tokverify run -r` takes.

    Without a FILE, the texts are samples that come with tokverify: one text in ten languages, one program in six,
    numbers, and white space. Of a FILE the suffix tells the programming language, and the letters in its lines the
    script. How numbers, indentation and the end of a prompt are encoded is told in any case.

    The exit code is 0, or 1 if a tokenizer cannot encode one of the texts.
    """
    wanted = StatsOptions(**options)
    check_reports(wanted, [wanted.model, *wanted.others, *wanted.texts])
    measured = _measure(wanted)
    write_reports(wanted, present(measured))
    return stats_exit_code(measured)


def _measure(options: StatsOptions) -> StatsReport:
    import platform

    from tokverify import __version__
    from tokverify.stats.measure import measure
    from tokverify.stats.subject import open_subjects

    subjects = open_subjects([options.model, *options.others])
    with ProgressBar(wanted=bool(options.texts), what="bytes") as progress:
        measured = measure(subjects, options.texts, on_progress=progress.update)
    versions = {"tokverify": __version__, "python": platform.python_version(), **measured.versions}
    return replace(measured, options=options.told(), versions=versions)
