"""Try the new faults in `tests/support/faults/` and `tenth_faults.py`, and write their section of docs/mutations.md.

Run as `python benchmarks/new_faults.py [PATTERN]`; it takes about an hour. With a pattern, only the faults whose names
contain it are tried; `--table` selects one of the tables. Each row is written as soon as it is known; the rows of
faults that are not tried stay as they are. Set `TOKVERIFY_REAL` for the vocabularies with references of their own.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import checkout  # noqa: F401
from tenth_faults import TENTH

from support.faults.table import FAULTS
from support.mutation import Mutation
from support.mutation_trial import is_here
from support.new_fault_trial import Trial, try_fault
from support.paths import ROOT
from support.scenarios import LEAVES, REPAIRS, SCENARIOS, Scenario, ScenarioTrial, try_scenario

TARGET = ROOT / "docs" / "mutations.md"
RESULTS = ROOT / "benchmarks" / "new_faults.tsv"
"""A row for each fault: the vocabulary, the fault and the reference; whether it was found, named and repaired, and
whether `fix` claims success; the kind of change, and what is left. The page counts them."""
BEGIN = "<!-- new faults: written by benchmarks/new_faults.py -->\n"
NAMES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
TABLES = {
    name: [fault for fault in (*FAULTS, *TENTH) if fault.table == number] for number, name in enumerate(NAMES, start=1)
}
REFERENCES = ("whole", "ids")
OWN = "its own"
"""What stands for the reference of a scenario, which has one of its own."""
Cells = tuple[str, ...]
"""A row of the results. The first three cells say what was tried."""


def yes(value: bool) -> str:
    return "yes" if value else "no"


def cells(trial: Trial, reference: str) -> Cells:
    """Return the row of a trial; the change is what `fix` did, or else what the diagnosis names."""
    report = trial.report
    kind = report.repair.kind if report and report.repair else trial.best.kind if trial.best else ""
    return (
        *key(trial.mutation, reference),
        *map(yes, (trial.found, trial.named, trial.repaired, trial.claimed)),
        kind,
        ", ".join(trial.differences),
    )


def scenario_key(scenario: Scenario) -> Cells:
    return f"made-{scenario.family.__name__}", scenario.name, OWN


def scenario_cells(trial: ScenarioTrial) -> Cells:
    """Return the row of a scenario: "repaired" if `fix` did what it should; the words that are missing are left."""
    missing, right = trial.missing, trial.fix == trial.scenario.fix
    marks = (len(missing) < len(trial.scenario.words), not missing, right, trial.fix in {REPAIRS, LEAVES})
    return (*scenario_key(trial.scenario), *map(yes, marks), trial.fix, ", ".join(missing))


def key(fault: Mutation, reference: str) -> Cells:
    return fault.vocabulary, fault.name, reference


def line(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


def summary(name: str, rows: Sequence[Cells]) -> str:
    """Count the results of some trials in one row."""
    counts = [sum(row[column] == "yes" for row in rows) for column in (3, 4, 5)]
    shares = [f"{count} ({count / len(rows):.0%})" if rows else "-" for count in counts]
    false_claims = sum(row[5:7] == ("no", "yes") for row in rows)
    return line([name, str(len(rows)), *shares, str(false_claims)])


def section(known: Mapping[Cells, Cells]) -> str:
    """Return the counts, which are the part of the page that depends on the results."""
    parts = []
    for reference in REFERENCES:
        for title, faults in TABLES.items():
            tried = [known[key(fault, reference)] for fault in faults if key(fault, reference) in known]
            parts.append(summary(f"{title} table, {reference}", tried))
    tried = [known[scenario_key(each)] for each in SCENARIOS if scenario_key(each) in known]
    parts.append(summary("scenarios", tried))
    head = "| faults | tried | found | named | repaired | false claims |\n|---|---|---|---|---|---|"
    return "\n".join([head, *parts, ""])


def published() -> dict[Cells, Cells]:
    """Return all results, by what was tried."""
    rows = [tuple(row.split("\t")) for row in RESULTS.read_text(encoding="utf-8").splitlines()]
    return {row[:3]: row for row in rows}


def publish(row: Cells) -> None:
    """Add a row to the results, and write the page anew."""
    known = published() | {row[:3]: row}
    RESULTS.write_text("".join("\t".join(each) + "\n" for each in known.values()), encoding="utf-8")
    page = TARGET.read_text(encoding="utf-8")
    TARGET.write_text(page.partition(BEGIN)[0] + BEGIN + section(known), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--table", action="append", choices=[*TABLES, "scenarios"])
    arguments = parser.parse_args()
    names = arguments.table or [*TABLES, "scenarios"]
    tables = [TABLES[name] for name in names if name in TABLES]
    faults = [fault for table in tables for fault in table if arguments.pattern in fault.id]
    chosen = [fault for fault in faults if is_here(fault.vocabulary)]
    with tempfile.TemporaryDirectory() as directory:
        for fault in chosen:
            for reference in REFERENCES:
                row = cells(try_fault(fault, Path(directory), bare=reference == "ids"), reference)
                print(line(row), flush=True)
                publish(row)
    for scenario in SCENARIOS if "scenarios" in names else ():
        with tempfile.TemporaryDirectory() as directory:
            row = scenario_cells(try_scenario(scenario, Path(directory)))
            print(line(row), flush=True)
            publish(row)


if __name__ == "__main__":
    main()
