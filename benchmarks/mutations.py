"""Try every mutation whose vocabulary is available, and write docs/mutations.md.

Run as `python benchmarks/mutations.py`; it takes about ten minutes.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import checkout  # noqa: F401

from support.mutation import MUTATIONS
from support.mutation_trial import FUZZ_SECONDS, Outcome, is_here, try_mutation
from support.paths import ROOT

TARGET = ROOT / "docs" / "mutations.md"
HEADS = ("vocabulary", "faults", "audit", "run", "fuzz", "diagnosed", "fixed", "by ids alone")
HEAD = """\
# Injected faults, and what finds and repairs them

Faults are injected into correct vocabularies, one at a time. `tests/support/mutation.py` defines those of the first
table, and `python benchmarks/mutations.py` writes it: a row counts the faults of a vocabulary. The reference is the
vocabulary's own, or tokverify's encoder with the intact file.

- **audit**: a rule reports an error or a warning without a reference, but not for the intact file.
- **run**: shipped cases fail or decode differently, or the file does not load.
- **fuzz**: generated texts show the fault within {seconds:.0f} seconds of CPU time.
- **diagnosed**: the first explanation names the fault and explains every failing case.
- **fixed**: `tokverify fix` writes a file with which all shipped cases match and decode as with the intact file.
- **by ids alone**: diagnosed with a reference that returns only ids and the bytes of its tokens, like a llama-server.

If the reference has its own types, merges and scores, the diagnosis can look up the differences. By ids alone, it tries
merges, scores, charsmaps and added tokens as trainers and converters usually write them; scores in no order, like those
of the invented `plamo2`, cannot be recovered.

"""

SECTION = "## New faults"
"""The part of the page that benchmarks/new_faults.py updates."""


def row(name: str, outcomes: Sequence[Outcome]) -> str:
    """Count the results of some faults."""
    counts = (
        len(outcomes),
        sum(bool(each.audit) for each in outcomes),
        sum(bool(each.before.refusal or each.before.fail or each.before.decoded_differently) for each in outcomes),
        sum(bool(each.fuzz and each.fuzz.found) for each in outcomes),
        sum(each.right for each in outcomes),
        sum(each.repaired for each in outcomes),
        sum(each.right_bare for each in outcomes),
    )
    return f"| {' | '.join([name, *map(str, counts)])} |"


def table(outcomes: Sequence[Outcome]) -> str:
    names = dict.fromkeys(each.mutation.vocabulary for each in outcomes)
    rows = [row(name, [each for each in outcomes if each.mutation.vocabulary == name]) for name in names]
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}", *rows, row("all", outcomes)]
    return HEAD.format(seconds=FUZZ_SECONDS) + "\n".join(lines) + "\n"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as directory:
        for mutation in MUTATIONS:
            if is_here(mutation.vocabulary):
                outcomes.append(try_mutation(mutation, Path(directory)))
                print(row(mutation.id, outcomes[-1:]), flush=True)
    kept = TARGET.read_text(encoding="utf-8").partition(SECTION)
    TARGET.write_text(table(outcomes) + "\n" + "".join(kept[1:]), encoding="utf-8")


if __name__ == "__main__":
    main()
