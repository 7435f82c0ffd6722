"""Check that distilled suites find every fault that the corpus finds, and write docs/distilled-faults.md.

    python benchmarks/corpus_data.py data/ --megabytes 1000
    python benchmarks/distilled_faults.py data/ -j 2

Tries the faults of `tests/support/mutation.py` whose vocabulary is available; with 1 GB, that takes about half an hour.
The exit code is 1 if a suite misses a fault, or has too many cases. With `--only`, nothing is written.
"""

import argparse
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

import checkout  # noqa: F401

from support.distilled_fault import Outcome, distill_corpus, try_fault, write_markers
from support.mutation import MUTATIONS
from support.mutation_trial import is_here
from support.paths import ROOT
from tokverify.corpus.distill import MAX_CASES

TARGET = ROOT / "docs" / "distilled-faults.md"
HEADS = ("vocabulary", "fault", "first document that differs", "cases that fail", "cases")
_WIDTH = 120
HEAD = """\
# Faults that a distilled suite finds

`tokverify corpus --distill` writes a suite of at most about 2,000 short cases that covers a corpus. This page measures
whether the suite finds what the corpus finds. `python benchmarks/distilled_faults.py` writes it: for each vocabulary,
a suite is distilled from a corpus on which the intact file agrees with itself. Then each [fault](mutations.md) is
injected, and the mutant is compared with the intact file on the corpus and on the suite.

The corpus has {megabytes:,.0f} MB: parts of novels in English and Japanese, Python source code, every character of
Unicode, and a document for each added token of these vocabularies, as chat logs contain them. What 1 GB showed is
in the [measurements](corpus.md#measurements).

{summary}

"""


def summarize(outcomes: Sequence[Outcome]) -> str:
    """Return the counts as a paragraph."""
    found = [outcome for outcome in outcomes if outcome.place]
    missed = [outcome.mutation.id for outcome in outcomes if outcome.is_missed]
    refused = sum(not outcome.loads for outcome in outcomes)
    only = sum(bool(outcome.failed) and not outcome.place for outcome in outcomes)
    silent = len(outcomes) - len(found) - refused - only
    largest = max(outcome.cases for outcome in outcomes)
    return (
        f"Of {len(outcomes)} faults, the corpus finds {len(found)}; the suites find {len(found) - len(missed)} of these"
        f" and {only} others. {refused} are in files that do not load, and {silent} do not show in any document. The"
        f" largest suite has {largest:,} cases. Missed: {'; '.join(missed) or 'none'}."
    )


def line(outcome: Outcome) -> str:
    place = outcome.place if outcome.loads else "refused"
    cells = (outcome.mutation.vocabulary, outcome.mutation.name, place, f"{outcome.failed:,}", f"{outcome.cases:,}")
    return f"| {' | '.join(cells)} |"


def try_vocabulary(vocabulary: str, data: Sequence[Path], suite: Path, jobs: int) -> tuple[int, list[Outcome]]:
    """Distill the corpus for a vocabulary, and try its faults; return the bytes of the corpus, and the outcomes."""
    size = distill_corpus(vocabulary, data, suite, jobs=jobs)
    outcomes = []
    for mutation in MUTATIONS:
        if mutation.vocabulary == vocabulary:
            outcomes.append(try_fault(mutation, data, suite))
            print(line(outcomes[-1]), flush=True)
    return size, outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a directory made by corpus_data.py")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--only", metavar="VOCABULARY", help="try the faults of one vocabulary")
    options = parser.parse_args()
    vocabularies = [name for name in dict.fromkeys(mutation.vocabulary for mutation in MUTATIONS) if is_here(name)]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as name:
        data = [options.data, Path(name) / "markers.jsonl"]
        write_markers(data[1], vocabularies)
        for vocabulary in [options.only] if options.only else vocabularies:
            size, tried = try_vocabulary(vocabulary, data, Path(name) / f"{vocabulary}.yaml", options.jobs)
            outcomes += tried
    print(summarize(outcomes))
    if not options.only:
        write(outcomes, size)
    has_failed = any(outcome.is_missed or outcome.cases > MAX_CASES for outcome in outcomes)
    sys.exit(1 if has_failed else 0)


def write(outcomes: Sequence[Outcome], size: int) -> None:
    """Write the page."""
    head = HEAD.format(megabytes=size / 1e6, summary=textwrap.fill(summarize(outcomes), _WIDTH))
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}", *map(line, outcomes)]
    TARGET.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
