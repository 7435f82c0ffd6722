"""Check that distilled suites find every fault that the corpus finds; prints a row for each fault, then the counts.

    python benchmarks/corpus_data.py data/ --megabytes 1000
    python benchmarks/distilled_faults.py data/ -j 2

Tries the faults of `tests/support/mutation.py` whose vocabulary is available; with 1 GB, that takes about half an hour.
The exit code is 1 if a suite misses a fault, or has too many cases.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import checkout  # noqa: F401

from support.distilled_fault import Outcome, distill_corpus, try_fault, write_markers
from support.mutation import MUTATIONS
from support.mutation_trial import is_here
from tokverify.corpus.distill import MAX_CASES


def summarize(outcomes: Sequence[Outcome]) -> str:
    """Return the counts in words."""
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


def try_vocabulary(vocabulary: str, data: Sequence[Path], suite: Path, jobs: int) -> list[Outcome]:
    """Distill the corpus for a vocabulary, and try its faults."""
    distill_corpus(vocabulary, data, suite, jobs=jobs)
    outcomes = []
    for mutation in MUTATIONS:
        if mutation.vocabulary == vocabulary:
            outcomes.append(try_fault(mutation, data, suite))
            print(line(outcomes[-1]), flush=True)
    return outcomes


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
            outcomes += try_vocabulary(vocabulary, data, Path(name) / f"{vocabulary}.yaml", options.jobs)
    print(summarize(outcomes))
    has_failed = any(outcome.is_missed or outcome.cases > MAX_CASES for outcome in outcomes)
    sys.exit(1 if has_failed else 0)


if __name__ == "__main__":
    main()
