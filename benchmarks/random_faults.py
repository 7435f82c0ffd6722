"""Repair random faults in real vocabularies, and count what `tokverify fix` finds, names, repairs and claims.

    python benchmarks/random_faults.py --seed 1 --count 40 gpt-2 llama-spm bert-bge t5 mpt qwen2

The definitions are those of docs/mutations.md; a fault takes 10 to 100 seconds.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import checkout  # noqa: F401

from support.new_fault_trial import Trial, try_fault
from support.random_faults import random_fault


def describe(trial: Trial) -> dict[str, bool]:
    return {
        "found": trial.found,
        "named": trial.named,
        "repaired": trial.repaired,
        "claimed": trial.claimed,
        "false claims": trial.is_false,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabularies", nargs="+", metavar="VOCABULARY")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    totals: Counter[tuple[str, str]] = Counter()
    for number in range(arguments.count):
        vocabulary = arguments.vocabularies[number % len(arguments.vocabularies)]
        fault = random_fault(vocabulary, f"{arguments.seed}-{number}")
        for reference in ("whole", "ids"):
            with tempfile.TemporaryDirectory() as directory:
                trial = try_fault(fault, Path(directory), bare=reference == "ids")
            results = describe(trial)
            totals.update((reference, name) for name, value in results.items() if value)
            what = ", ".join(name for name, value in results.items() if value)
            print(
                f"{number} {fault.id}, {reference}: {what}; left: {', '.join(trial.differences) or 'nothing'}",
                flush=True,
            )
    for (reference, name), count in sorted(totals.items()):
        print(f"{reference}: {count} of {arguments.count} {name}")


if __name__ == "__main__":
    main()
