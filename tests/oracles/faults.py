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

TABLES = {
    "mutation": ("MUTATIONS",),
    "new_faults": ("FIRST", "SECOND"),
    **{
        f"{name}_faults": (name.upper(),)
        for name in ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
    },
}
"""The modules of `tests/support/` with faults, and their tables."""


def main() -> None:
    tests, pattern = sys.argv[1:]
    sys.path[:0] = [tests]
    is_here = import_module("support.mutation_trial").is_here
    try_fault = import_module("support.new_fault_trial").try_fault
    with tempfile.TemporaryDirectory() as name:
        for module, tables in TABLES.items():
            faults = [fault for table in tables for fault in getattr(import_module(f"support.{module}"), table)]
            for fault in faults:
                if is_here(fault.vocabulary) and re.search(pattern, f"{module}: {fault.id}"):
                    print(json.dumps(describe(f"{module}: {fault.id}", try_fault(fault, Path(name), bare=False))))
                    sys.stdout.flush()


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
