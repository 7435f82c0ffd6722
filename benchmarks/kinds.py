"""Compare every kind of tokenizer with faulty GGUF files in both directions, and print a table of the verdicts.

    python benchmarks/kinds.py bert-bge mpt

Tries all faults that `tests/support` lists for these vocabularies. The exit code is 1 if a verdict is false: the two
directions disagree, a fault that changes the ids of a case is missed, or the correct file fails.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import checkout  # noqa: F401

from support.kinds_of_vocabulary import Verdicts, faults_of, locations_of, try_kind
from support.real_data import SHARED


def main() -> int:
    """Try the vocabularies; a row is written as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vocabularies", nargs="+", metavar="VOCABULARY", help="a shared one with a tokenizer.json")
    parser.add_argument("--only", metavar="KIND", action="append", help="try only this kind; repeatable")
    arguments = parser.parse_args()
    print("| vocabulary | kind | fault | MODEL | -r | ids of a case change |")
    print("|---|---|---|---|---|---|")
    counts = Counter[str]()
    for vocabulary in arguments.vocabularies:
        for verdicts in _try_vocabulary(vocabulary, arguments.only):
            counts[_describe(verdicts)] += 1
            cells = [vocabulary, verdicts.kind, verdicts.fault, verdicts.there, verdicts.back]
            print("|", " | ".join(map(str, cells)), "|", "yes" if verdicts.is_shown else "no", "|", flush=True)
    print(*(f"{count} {what}" for what, count in counts.items()), sep="; ")
    return int(bool(counts["false"]))


def _try_vocabulary(vocabulary: str, only: list[str] | None):
    gguf, document = (SHARED / "vocabs" / f"{vocabulary}{end}" for end in (".gguf", ".tokenizer.json"))
    with tempfile.TemporaryDirectory() as folder, locations_of(gguf, document, Path(folder)) as locations:
        for kind, location in locations.items():
            if not only or kind in only:
                yield from try_kind(kind, location, gguf, faults_of(vocabulary), Path(folder))


def _describe(verdicts: Verdicts) -> str:
    return "false" if verdicts.is_false else "found" if verdicts.there else "equal"


if __name__ == "__main__":
    sys.exit(main())
