"""Measure each format on a large report, each in a process of its own: `python tests/format_benchmark.py --help`."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from dataclasses import replace

from fake_tokenizer import FakeTokenizer

from tokverify.cases import Case
from tokverify.formats import FORMATS, RenderOptions
from tokverify.report import Report, Side
from tokverify.verify import verify

TEXT = "the tokenizer that a model was trained with answers only worse\tand nobody sees why 🦙 é \n [/INST] <b>"
WORDS = TEXT.split(" ")
WORDS_OF_A_TEXT = 10
SUITES = 20


def large_report(cases: int, mismatches: int) -> Report:
    """Make a report whose texts have about 40 tokens; those that differ have runs of spaces, which one side joins."""
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
    report = verify(actual, expected, made, sides=(Side("actual", "model.gguf"), Side("expected", "tokenizer.json")))
    return replace(report, versions={"tokverify": "0"})


def measure(name: str, cases: int, mismatches: int) -> None:
    """Print seconds of processor time, and the memory that rendering took on top of the report, in MB."""
    report = large_report(cases, mismatches)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    text = FORMATS[name](report, RenderOptions())
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = len(text.encode()) / 1e6
    print(f"| {name} | {seconds:.2f} | {peak / 1024:.0f} | {(peak - before) / 1024:.0f} | {size:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=list(FORMATS))
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--mismatches", type=int, default=2_000)
    parser.add_argument("--here", action="store_true", help="measure one format in this process")
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.formats[0], arguments.cases, arguments.mismatches)
        return
    print("| format | seconds | peak MB | of which rendering | MB written |\n|---|--:|--:|--:|--:|", flush=True)
    for name in arguments.formats:
        sizes = ["--cases", str(arguments.cases), "--mismatches", str(arguments.mismatches)]
        subprocess.run([sys.executable, __file__, name, "--here", *sizes], check=True)


if __name__ == "__main__":
    main()
