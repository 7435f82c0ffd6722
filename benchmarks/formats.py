"""Measure each format on a large report, in one process per format: `python benchmarks/formats.py --help`.

With `--saved`, the time for reading the report back is included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import checkout  # noqa: F401

from support.fake_tokenizer import FakeTokenizer
from tokverify.case import Case
from tokverify.compare.comparison import verify_tokenizers
from tokverify.compare.fuzz.cause import MAX_CAUSES
from tokverify.render.kinds import FORMATS, present
from tokverify.render.options import RenderOptions
from tokverify.report.codec import read_any
from tokverify.report.diff import ChangeReport, Part, PartChange
from tokverify.report.fuzz import (
    DifferenceKind,
    FoundText,
    FuzzCause,
    FuzzCoverage,
    FuzzReport,
    GeneratorTally,
    Share,
    Stop,
)
from tokverify.report.run import Report, Status
from tokverify.report.side import Side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokverify.render.kinds import Presentation

TEXT = "the tokenizer that a model was trained with answers only worse\tand nobody sees why 🦙 é \n [/INST] <b>"
WORDS = TEXT.split(" ")
WORDS_OF_A_TEXT = 10
SUITES = 20


def large_report(cases: int, mismatches: int) -> Report:
    """Make a report whose texts have about 40 tokens; the mismatches contain runs of spaces, which one side merges."""
    letters = sorted(set(TEXT))
    actual = FakeTokenizer(*letters, "token", "train", name="actual")
    expected = FakeTokenizer(*letters, "token", "train", "  ", "   ", name="expected")
    made = []
    for index in range(cases):
        text = " ".join(WORDS[(7 * index + 5 * number) % len(WORDS)] for number in range(WORDS_OF_A_TEXT))
        if index % (cases // mismatches) == 0:
            text = text.replace(" ", "  ", 4).replace(" ", "   ", 2)
        suite = f"suite-{index % SUITES}"
        made.append(Case(id=f"case-{index}", suite=suite, text=text, file=f"cases/{suite}.yaml", line=index + 1))
    report = verify_tokenizers(
        actual, expected, made, sides=(Side("actual", "model.gguf"), Side("expected", "tokenizer.json"))
    )
    return replace(report, versions={"tokverify": "0"})


def large_fuzz(cases: int, mismatches: int) -> FuzzReport:
    """Make a fuzzing report over `cases` strings with as many causes as a report lists."""
    report = large_report(cases, mismatches)
    listed = tuple(result for result in report.results if result.status is Status.MISMATCH)[:MAX_CAUSES]
    causes = tuple(
        FuzzCause(result.case.id, DifferenceKind.IDS, 1, "pieces", FoundText(result.case.text, False, True))
        for result in listed
    )
    return FuzzReport(
        report=replace(report, results=listed),
        strings=cases,
        failing=mismatches,
        skipped=0,
        unlisted=mismatches - len(listed),
        stop=Stop.COUNT,
        coverage=FuzzCoverage(Share(cases, cases), None),
        generators={"pieces": GeneratorTally(cases, mismatches)},
        causes=causes,
    )


def large_change(cases: int, mismatches: int) -> ChangeReport:
    """Make a comparison of two versions in which one token per case was added."""
    added = tuple(PartChange("added", f"token {n}", None, f"id {n}") for n in range(cases))
    report, fuzzed = large_report(cases, mismatches), large_fuzz(cases, mismatches)
    return ChangeReport((Part("tokens", added),), report, fuzzed, file="model.gguf")


MADE: Mapping[str, Callable[[int, int], Presentation]] = {
    "run": lambda cases, mismatches: present("run", large_report(cases, mismatches)),
    "fuzz": lambda cases, mismatches: present("fuzz", large_fuzz(cases, mismatches)),
    "diff": lambda cases, mismatches: present("diff", large_change(cases, mismatches)),
}


def measure(name: str, make: Callable[[], Presentation], *, making_counts: bool) -> None:
    """Print the CPU seconds and the memory in MB that rendering needed in addition to the report."""
    start = time.process_time()
    shown = make()
    if not making_counts:
        start = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = shown.formats[name](RenderOptions())
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = len(text.encode()) / 1e6
    print(f"| {name} | {seconds:.2f} | {peak / 1024:.0f} | {(peak - before) / 1024:.0f} | {size:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=list(FORMATS["run"]))
    parser.add_argument("--kind", choices=list(MADE), default="run", help="the command whose report is rendered")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--mismatches", type=int, default=2_000)
    parser.add_argument("--saved", action="store_true", help="read the report back from JSON first")
    parser.add_argument("--file", type=Path, help="measure one format in this process; with --saved, read this report")
    arguments = parser.parse_args()
    if arguments.file:
        measure_here(arguments)
        return
    print("| format | seconds | peak MB | of which rendering | MB written |\n|---|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "report.json"
        if arguments.saved:
            made = MADE[arguments.kind](arguments.cases, arguments.mismatches)
            file.write_text(made.formats["json"](RenderOptions()), encoding="ascii")
        for name in arguments.formats:
            subprocess.run([sys.executable, __file__, name, *sys.argv[1:], "--file", str(file)], check=True)


def measure_here(arguments: argparse.Namespace) -> None:
    """Measure the first format."""
    name, kind = arguments.formats[0], arguments.kind
    if arguments.saved:
        measure(name, lambda: present(kind, read_any(arguments.file, [kind]).report), making_counts=True)
    else:
        measure(name, lambda: MADE[kind](arguments.cases, arguments.mismatches), making_counts=False)


if __name__ == "__main__":
    main()
