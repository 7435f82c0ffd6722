"""Print a JSON object for each fault injected into a vocabulary: whether it is found, named, repaired and claimed.

Run as `python tests/oracles record --faults`, which sets the environment. The first argument is the directory `tests`
of the checkout, whose modules in `support/` define and try the faults; the second one is a regular expression that
selects faults.
"""

import json
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path


def main() -> None:
    tests, pattern = sys.argv[1:]
    sys.path[:0] = [tests]
    is_here = import_module("support.mutation_trial").is_here
    try_fault = import_module("support.new_fault_trial").try_fault
    faults = (*import_module("support.mutation").MUTATIONS, *import_module("support.faults.table").FAULTS)
    with tempfile.TemporaryDirectory() as directory:
        for fault in faults:
            name = f"table {fault.table}: {fault.id}"
            if is_here(fault.vocabulary) and re.search(pattern, name):
                print(json.dumps(describe(name, try_fault(fault, Path(directory), bare=False))), flush=True)


def describe(name: str, trial: object) -> dict[str, object]:
    """Return what becomes of a fault; the kind is that of the first explanation, or else of the repair."""
    repair = trial.report.repair if trial.report else None
    return {
        "fault": name,
        "found": trial.found,
        "named": trial.named,
        "kind": trial.best.kind if trial.best else repair.kind if repair else "",
        "repaired": trial.repaired,
        "claimed": trial.claimed,
        "audit": list(trial.audit),
        "left": list(trial.differences),
        "error": trial.error,
    }


if __name__ == "__main__":
    main()
