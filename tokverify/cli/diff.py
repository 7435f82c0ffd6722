"""`tokverify diff`: what is different in a tokenizer from one version of it to the next."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from tokverify.cases.case import name_of_source
from tokverify.cli.options import PATH, cases_option, report_options, seconds, selected_cases, selection_options
from tokverify.cli.output import ReportOptions, check_reports, write_reports
from tokverify.cli.progress import FuzzLine
from tokverify.cli.source import read_text
from tokverify.render.diff import CHANGE_FORMATS, present
from tokverify.report.diff import diff_exit_code

if TYPE_CHECKING:
    from tokverify.cases.case import SuiteSource
    from tokverify.fuzz.plan import FuzzPlan
    from tokverify.report.diff import ChangeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions(ReportOptions):
    """What the user asked for; the time in seconds."""

    old: str
    new: str
    cases: tuple[SuiteSource, ...]
    suites: tuple[str, ...]
    tags: tuple[str, ...]
    patterns: tuple[str, ...]
    fuzz: float | None
    seed: int
    corpus: tuple[Path, ...]
    behavior_only: bool

    def told(self) -> dict[str, object]:
        """Return what decides the results, for the report."""
        return {
            "old": self.old,
            "new": self.new,
            "cases": list(map(name_of_source, self.cases)),
            "suites": list(self.suites),
            "tags": list(self.tags),
            "patterns": list(self.patterns),
            "fuzz": self.fuzz,
            "seed": self.seed,
            "corpus": [str(path) for path in self.corpus],
            "behavior_only": self.behavior_only,
        }

    def plan(self) -> FuzzPlan | None:
        """Work out what to fuzz."""
        from tokverify.fuzz.plan import FuzzPlan

        return None if self.fuzz is None else FuzzPlan(seed=self.seed, seconds=self.fuzz)

    def lines(self) -> Iterator[str] | None:
        """Read the corpus, without empty lines."""
        if not self.corpus:
            return None
        texts = [read_text(None, path) for path in self.corpus]
        return (line for text in texts for line in text.split("\n") if line.strip())


@click.command()
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@cases_option("What to encode")
@selection_options
@click.option("--fuzz", callback=seconds, metavar="TIME", help="Fuzz as well, for a time such as 30s.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same strings.")
@click.option("--corpus", multiple=True, type=PATH, metavar="FILE", help="Measure the share of this text that changes.")
@click.option("--behavior-only", is_flag=True, help="Parts may differ as long as all texts get the same ids.")
@report_options(CHANGE_FORMATS, "Every change, and nothing folded.")
def diff(**options: Any) -> int:  # noqa: ANN401 - one parameter for each option, by type in DiffOptions
    """Compare tokenizer B with A, such as a new version with an old.

    Either is a GGUF file, a tokenizer.json, a .model, a tiktoken file, a directory, a hub id, the address of a
    llama-server, or REVISION:PATH for a file of a git revision, such as HEAD~1:tokenizer.json. The exit code is 0 if
    nothing differs, 1 if something does, 2 if they cannot be compared.
    """
    return _diff(DiffOptions(**options))


def _diff(options: DiffOptions) -> int:
    check_reports(options, [options.old, options.new, *options.cases, *options.corpus])
    with TemporaryDirectory() as directory:
        report = _compare(options, Path(directory))
    write_reports(options, present(report))
    return diff_exit_code(report)


def _compare(options: DiffOptions, directory: Path) -> ChangeReport:
    from tokverify import __version__
    from tokverify.diff.compare import compare_versions
    from tokverify.diff.version import open_version

    cases = selected_cases(options.cases, options.suites, options.tags, options.patterns)
    lines = options.lines()
    places = [directory / name for name in ("old", "new")]
    for place in places:
        place.mkdir()
    old, new = (open_version(at, place) for at, place in zip((options.old, options.new), places, strict=True))
    with FuzzLine(wanted=options.fuzz is not None and not options.quiet and sys.stderr.isatty()) as line:
        report = compare_versions(
            old,
            new,
            cases,
            plan=options.plan(),
            corpus=lines,
            behavior_only=options.behavior_only,
            on_fuzz=line.update,
        )
    return replace(report, options=options.told(), versions={"tokverify": __version__})
