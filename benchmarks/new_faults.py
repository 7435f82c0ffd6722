"""Try the new faults in `tests/support/`, and write their section of docs/mutations.md.

Run as `python benchmarks/new_faults.py [PATTERN]`; it takes about half an hour. With a pattern, only the faults whose
names contain it are tried, and nothing is written. `--table` selects one of the tables.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import checkout  # noqa: F401

from support.mutation_trial import is_here
from support.new_fault_trial import Trial, try_fault
from support.new_faults import FIRST, SECOND
from support.paths import ROOT
from support.third_faults import THIRD

TARGET = ROOT / "docs" / "mutations.md"
BEGIN = "<!-- new faults: written by benchmarks/new_faults.py -->\n"
TABLES = {"first": FIRST, "second": SECOND, "third": THIRD}
HEADS = (
    "vocabulary",
    "fault",
    "reference",
    "found",
    "named",
    "repaired",
    "fix claims success",
    "change",
    "what is left",
)


def yes(value: bool) -> str:
    return "yes" if value else "no"


def line(trial: Trial, reference: str) -> str:
    """Return the row of a trial; the change is what `fix` did, or else what the diagnosis names."""
    report = trial.report
    kind = report.repair.kind if report and report.repair else trial.best.kind if trial.best else ""
    cells = (
        trial.mutation.vocabulary,
        trial.mutation.name,
        reference,
        *map(yes, (trial.found, trial.named, trial.repaired, trial.claimed)),
        kind,
        ", ".join(trial.differences),
    )
    return f"| {' | '.join(cells)} |"


def summary(name: str, trials: Sequence[Trial]) -> str:
    """Count the results of some trials in one row."""
    counts = [sum(getattr(trial, name) for trial in trials) for name in ("found", "named", "repaired", "is_false")]
    shares = [f"{count} ({count / len(trials):.0%})" if trials else "-" for count in counts[:3]]
    return f"| {name} | {len(trials)} | {' | '.join(shares)} | {counts[3]} |"


def section(rows: Sequence[tuple[Trial, str]]) -> str:
    """Return the part of the page that depends on the results."""
    parts = [
        summary(f"{title} table, {reference}", [
            trial for trial, used in rows if used == reference and trial.mutation in faults
        ])
        for reference in ("whole", "ids")
        for title, faults in TABLES.items()
    ]  # fmt: skip
    head = "| faults | tried | found | named | repaired | false claims |\n|---|---|---|---|---|---|"
    table = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}", *(line(*row) for row in rows)]
    return "\n".join([head, *parts, "", *table, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--table", action="append", choices=TABLES)
    arguments = parser.parse_args()
    tables = [TABLES[name] for name in arguments.table or TABLES]
    faults = [fault for table in tables for fault in table if arguments.pattern in fault.id]
    chosen = [fault for fault in faults if is_here(fault.vocabulary)]
    rows: list[tuple[Trial, str]] = []
    with tempfile.TemporaryDirectory() as directory:
        for fault in chosen:
            for reference in ("whole", "ids"):
                rows.append((try_fault(fault, Path(directory), bare=reference == "ids"), reference))
                print(line(*rows[-1]), flush=True)
    if not arguments.pattern and not arguments.table:
        page = TARGET.read_text(encoding="utf-8").partition(BEGIN)[0]
        TARGET.write_text(page + BEGIN + section(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
